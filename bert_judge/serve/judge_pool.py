"""The judges that a server has, each behind its queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bert_judge.judges.pairwise.protocol import Pair, PairJudge, Preference
from bert_judge.judges.protocol import Judge, Label, Row
from bert_judge.labels.score_file.judge_loading import Chosen
from bert_judge.labels.score_file.score_file import judge_rows
from bert_judge.serve.batcher import Batcher, Listener
from bert_judge.serve.limits import Limits, Refused

Items = Row | Label
Found = TypeVar("Found")
# What a row costs beside its texts.
ROW_CHARACTERS = 64


@dataclass(frozen=True)
class Roster:
    """Attributes: judges of single answers and of pairs by name, the default one of each first."""

    pointwise: Mapping[str, Batcher[Items, Label]]
    pairwise: Mapping[str, Batcher[Pair, Preference]] = field(default_factory=dict)

    @property
    def all(self) -> list[Batcher[Any, Any]]:
        return [*self.pointwise.values(), *self.pairwise.values()]

    def load(self) -> None:
        """Load the judges, one after the other: two that load at once need the memory of both.

        Raises:
            InputError: one cannot be loaded.
        """
        for batcher in self.all:
            batcher.load()

    def close(self) -> None:
        """End the judges' threads."""
        for batcher in self.all:
            batcher.close()

    def judge(self, name: str | None) -> Batcher[Items, Label]:
        """The pointwise judge of this name, or the default one.

        Raises:
            Refused: there is none.
        """
        return _named(self.pointwise, name, "judge of single answers")

    def pair_judge(self, name: str | None) -> Batcher[Pair, Preference]:
        """The same for a judge of pairs."""
        return _named(self.pairwise, name, "pairwise judge")


def pointwise(name: str, load: Callable[[], Judge], limits: Limits, listener: Listener) -> Batcher[Items, Label]:
    """A judge of single answers behind its queue.

    Args:
        load: called in the thread that then judges.
    """

    def loaded() -> Callable[[Sequence[Items]], list[Label]]:
        chosen = Chosen(name, "", load())
        # No row is None here, so no label is.
        return lambda rows: [label for label in judge_rows(chosen, rows) if label is not None]

    return Batcher(name, loaded, _row_cost, limits, listener)


def pairwise(name: str, load: Callable[[], PairJudge], limits: Limits, listener: Listener) -> Batcher[Pair, Preference]:
    """A judge of pairs behind its queue."""
    return Batcher(name, lambda: load().compare, _pair_cost, limits, listener)


def _pair_cost(pair: Pair) -> int:
    said = len(pair.question) + len(pair.answer_a) + len(pair.answer_b) + sum(map(len, pair.references))
    # Both orders are read.
    return 2 * (said + ROW_CHARACTERS)


def _row_cost(row: Items) -> int:
    if isinstance(row, Label):
        return 1
    # The encoder reads question and answer once per reference.
    said = len(row.question) + len(row.candidate) + ROW_CHARACTERS
    return said * len(row.references) + sum(map(len, row.references))


def _named(judges: Mapping[str, Found], name: str | None, what: str) -> Found:
    if name is None and judges:
        return next(iter(judges.values()))
    if name is None or name not in judges:
        there = ", ".join(judges) or "none"
        raise Refused(404, f"no {what} {name!r}; there are: {there}" if name else f"there is no {what}")
    return judges[name]
