"""A judge that is loaded when the first row comes, for jobs that mostly find their verdicts made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bert_judge.judges.protocol import Judge, Label, Row


class WhenNeeded:
    """Implements `judges.protocol.Judge` on another one.

    Args:
        revisions: of the judge, known without loading it.
        load: makes the judge.
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
