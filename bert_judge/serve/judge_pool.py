"""Define the judges of a server, each behind its queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bert_judge.judges.pairwise.protocol import Pair, PairJudge, Preference
from bert_judge.judges.protocol import Judge, Label, Row
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file.score_file import judge_rows
from bert_judge.serve.batcher import Batcher, Listener
from bert_judge.serve.limits import Limits, RequestRejected

Items = Row | Label
BatcherT = TypeVar("BatcherT")
# Fixed cost of a row in addition to its texts.
ROW_OVERHEAD = 64


@dataclass(frozen=True)
class JudgePool:
    """Pointwise and pairwise judges by name, the default of each first."""

    pointwise: Mapping[str, Batcher[Items, Label]]
    pairwise: Mapping[str, Batcher[Pair, Preference]] = field(default_factory=dict)

    @property
    def all(self) -> list[Batcher[Any, Any]]:
        return [*self.pointwise.values(), *self.pairwise.values()]

    def load(self) -> None:
        """Load the judges one after the other, to limit peak memory.

        Raises:
            InputError: a judge cannot be loaded.
        """
        for batcher in self.all:
            batcher.load()

    def close(self) -> None:
        """Stop the judges' threads."""
        for batcher in self.all:
            batcher.close()

    def judge(self, name: str | None) -> Batcher[Items, Label]:
        """Return the pointwise judge of this name, or the default.

        Raises:
            RequestRejected: it does not exist.
        """
        return _get(self.pointwise, name, "pointwise judge")

    def pair_judge(self, name: str | None) -> Batcher[Pair, Preference]:
        """Return the pairwise judge of this name, or the default; raises like `judge`."""
        return _get(self.pairwise, name, "pairwise judge")


def pointwise(name: str, load: Callable[[], Judge], limits: Limits, listener: Listener) -> Batcher[Items, Label]:
    """Return a pointwise judge behind its queue.

    Args:
        load: called in the judge's thread.
    """

    def loaded() -> Callable[[Sequence[Items]], list[Label]]:
        judge = NamedJudge(name, "", load())
        # Labels are None only for rows that are None.
        return lambda rows: [label for label in judge_rows(judge, rows) if label is not None]

    return Batcher(name, loaded, _row_cost, limits, listener)


def pairwise(name: str, load: Callable[[], PairJudge], limits: Limits, listener: Listener) -> Batcher[Pair, Preference]:
    """Return a pairwise judge behind its queue."""
    return Batcher(name, lambda: load().compare, _pair_cost, limits, listener)


def _pair_cost(pair: Pair) -> int:
    characters = len(pair.question) + len(pair.answer_a) + len(pair.answer_b) + sum(map(len, pair.references))
    # Both orders are encoded.
    return 2 * (characters + ROW_OVERHEAD)


def _row_cost(row: Items) -> int:
    if isinstance(row, Label):
        return 1
    # The encoder processes question and answer once per reference.
    characters = len(row.question) + len(row.candidate) + ROW_OVERHEAD
    return characters * len(row.references) + sum(map(len, row.references))


def _get(judges: Mapping[str, BatcherT], name: str | None, kind: str) -> BatcherT:
    if name is None and judges:
        return next(iter(judges.values()))
    if name is None or name not in judges:
        available = ", ".join(judges) or "none"
        raise RequestRejected(404, f"no {kind} {name!r}; available: {available}" if name else f"no {kind} available")
    return judges[name]
