"""A judge that is loaded when the first row arrives, for jobs that mostly find finished labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bert_judge.judges.protocol import Judge, Label, Row


class LazyJudge:
    """Implements `judges.protocol.Judge` by loading another judge on first use.

    Args:
        revisions: of the judge, known without loading it.
        load: loads the judge.
    """

    def __init__(self, revisions: Mapping[str, str], load: Callable[[], Judge]) -> None:
        self.revisions = dict(revisions)
        self._load = load
        self._judge: Judge | None = None

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`."""
        if self._judge is None:
            self._judge = self._load()
        return self._judge.judge(rows)
