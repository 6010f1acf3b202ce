"""The interfaces of judges: of single answers, the rows that they judge and the labels that they return; of two answers, pairs
and preferences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bert_judge import tables
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

KEY = list(tables.CANDIDATES.key)
# Reason and flag of a verdict on an empty answer, which no model is asked about.
EMPTY_ANSWER, EMPTY_FLAG = "empty answer", "empty_answer"
# Flag of an invalid verdict whose computation reached a limit of work, memory or time, or crashed; the next call tries again.
UNFINISHED_FLAG = "unfinished"
# Reason of an invalid verdict: the model's arithmetic overflowed, or its weights are damaged.
NOT_A_NUMBER = "the judge's score is not a number"
# Codes of verdicts in arrays.
INVALID, INCORRECT, CORRECT = -1, 0, 1
VERDICT_CODES = {"invalid": INVALID, "incorrect": INCORRECT, "correct": CORRECT}
# Outcome of an answer that attempts nothing.
NOT_ATTEMPTED = "not_attempted"


@dataclass(frozen=True)
class Row:
    """A candidate with its question and references.

    Attributes:
        sample_id, attempt, model: identity of the candidate.
        references: correct answers; any one of them suffices.
    """

    sample_id: str
    attempt: int
    model: str
    question: str
    references: tuple[str, ...]
    candidate: str


@dataclass(frozen=True)
class Label:
    """A verdict on a candidate.

    Attributes:
        verdict: one of `tables.VERDICTS`.
        score: how correct, 0 to 1; None if invalid.
        reason: why the verdict is invalid, or how it was reached.
        raw: the judge's reply or uncalibrated score.
        truncated: the judge did not see the whole row.
        aspects: aspect → value on its own scale, from a judge of aspects; aspects without a value are omitted.
        is_attempted: whether the answer attempts the question; None until `labels.judging` or the judge itself has told.
        decided_by: part of the judge that decided, such as a rule module or the judge of a cascade; None if it has no parts.
        flags: what a program should know of the row: `EMPTY_FLAG`, `UNFINISHED_FLAG`, or one of
            `text.languages.UNFAMILIAR_FLAGS`.
        certain: whether such verdicts of the judge were measured to be wrong in at most 10%; None: the judge makes no claim,
            because that was not measured.
    """

    verdict: str
    score: float | None
    reason: str | None = None
    raw: str | None = None
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    aspects: Mapping[str, float] | None = None
    is_attempted: bool | None = None
    decided_by: str | None = None
    flags: tuple[str, ...] = ()
    certain: bool | None = None

    @property
    def outcome(self) -> str:
        """One of `tables.OUTCOMES`: the verdict, unless an answer that is not correct attempts nothing."""
        return NOT_ATTEMPTED if self.is_attempted is False and self.verdict != "correct" else self.verdict

    def to_record(self) -> dict[str, Any]:
        """Return the label as plain values for a shard."""
        aspects = None if self.aspects is None else [{"aspect": name, "value": value} for name, value in self.aspects.items()]
        return asdict(self) | {"reason": tables.storable(self.reason), "raw": tables.storable(self.raw), "aspects": aspects}


def from_record(record: Mapping[str, Any]) -> Label:
    """Build a label from the values of `Label.to_record`."""
    aspects = record["aspects"]
    pairs = None if aspects is None else {pair["aspect"]: pair["value"] for pair in aspects}
    return Label(**{**record, "aspects": pairs, "flags": tuple(record["flags"])})


def sum_known(counts: Iterable[int | None]) -> int | None:
    """Return the sum of the counts that are known; None if none is."""
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None


def invalid(reason: str, raw: str | None = None, *, is_attempted: bool | None = None) -> Label:
    """Return the label of a row without a verdict."""
    return Label("invalid", None, reason, raw, is_attempted=is_attempted)


def unfinished(reason: str, raw: str | None = None) -> Label:
    """Return the label of a row whose computation reached a limit."""
    return Label("invalid", None, reason, raw, flags=(UNFINISHED_FLAG,))


def decided(score: float, threshold: float = 0.5, **details: object) -> Label:
    """Return the label of a score: correct from `threshold` on; invalid if it is not a number."""
    if not math.isfinite(score):
        return invalid(NOT_A_NUMBER)
    return Label("correct" if score >= threshold else "incorrect", score, **details)  # type: ignore[arg-type]


def empty_answer(aspects: Mapping[str, float] | None = None) -> Label:
    """Return the label of an empty answer."""
    return decided(0.0, reason=EMPTY_ANSWER, flags=(EMPTY_FLAG,), aspects=aspects, certain=True)


# Columns of a label in a table.
LABEL_COLUMNS = ["outcome" if field.name == "is_attempted" else field.name for field in fields(Label)]


def join_labels(answers: pd.DataFrame, labels: str | Path) -> pd.DataFrame:
    """Read the labels of these answers, in their order; the table may hold more. Raises InputError: an answer has no label."""
    # pandas 3 cannot merge two empty arrow-backed text columns.
    table = tables.read(labels, tables.LABELS)[[*KEY, *LABEL_COLUMNS]].astype({"sample_id": object})
    merged = answers[KEY].astype({"sample_id": object}).merge(table, on=KEY, how="left", validate="one_to_one")
    if (missing := merged["verdict"].isna()).any():
        raise InputError(f"{labels}: no label for {merged.loc[missing, 'sample_id'].iloc[0]}; delete the file and run again")
    return merged


# End of the names in `Judge.revisions` that hold a back end.
BACKEND = ": backend"


def model_revisions(revisions: Mapping[str, str]) -> dict[str, str]:
    """Return revisions without back ends, which are known only once a judge is loaded: keys of saved verdicts leave them out."""
    return {name: revision for name, revision in revisions.items() if not name.endswith(BACKEND)}


class Judge(Protocol):
    """Judges candidates."""

    @property
    def revisions(self) -> dict[str, str]:
        """Model name → revision, for the provenance of the labels."""
        ...

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """Return one label per row, in order; the verdict on a row does not depend on the other rows.

        A judge that works ahead also has `judge_shards`, see the function of that name.
        """
        ...


class LazyJudge:
    """Implements `Judge` by loading another judge on first use; its revisions are known without loading it."""

    def __init__(self, revisions: Mapping[str, str], load: Callable[[], Judge]) -> None:
        self.revisions = dict(revisions)
        self._load = load
        self._judge: Judge | None = None

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`."""
        return [label for labels in self.judge_shards([rows]) for label in labels]

    def judge_shards(self, shards: Sequence[Sequence[Row]]) -> Iterable[list[Label]]:
        """See `judge_shards`."""
        if self._judge is None:
            self._judge = self._load()
            # Now with the backend.
            self.revisions = dict(self._judge.revisions)
        return judge_shards(self._judge, shards)


def judge_shards(judge: Judge, shards: Sequence[Sequence[Row]]) -> Iterable[list[Label]]:
    """Return the labels of each of several lists of rows, judged when they are asked for; a judge may read ahead."""
    return judge.judge_shards(shards) if hasattr(judge, "judge_shards") else map(judge.judge, shards)


# --- pairs of answers

SWAPPED_VERDICTS = {"A": "B", "B": "A"}


@dataclass(frozen=True)
class Pair:
    """Two answers to one question, or to a whole conversation, and correct or good answers, if there are any."""

    question: str
    answer_a: str
    answer_b: str
    references: tuple[str, ...] = ()

    @property
    def swapped(self) -> Pair:
        """The pair with its answers swapped."""
        return replace(self, answer_a=self.answer_b, answer_b=self.answer_a)


@dataclass(frozen=True)
class OrderVerdict:
    """The verdict on a pair shown in one order.

    Attributes:
        verdict: one of `tables.ORDER_VERDICTS`; A and B are the answers of the pair, whichever was shown first.
        score: probability that A is better, a tie counting half, in [0, 1]; None if invalid.
    """

    verdict: str
    score: float | None
    reason: str | None = None
    raw: str | None = None
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def swapped(self) -> OrderVerdict:
        """The verdict in the letters of the swapped pair."""
        score = None if self.score is None else 1.0 - self.score
        return replace(self, verdict=SWAPPED_VERDICTS.get(self.verdict, self.verdict), score=score)


@dataclass(frozen=True)
class Preference:
    """The combined verdict of both orders.

    Attributes:
        verdict: one of `tables.PAIR_VERDICTS`.
        score: mean of the scores of the two orders, in [0, 1]; None if invalid.
        consistent: both orders have the same verdict; None if one of them is invalid.
        forward, backward: with A shown first, and with B shown first; both in the letters of the pair.
    """

    verdict: str
    score: float | None
    consistent: bool | None
    forward: OrderVerdict
    backward: OrderVerdict

    @property
    def reason(self) -> str | None:
        """The reasons of both orders; a single one if they are equal."""
        return _join(self.forward.reason, self.backward.reason)

    @property
    def raw(self) -> str | None:
        """The judge's replies on both orders."""
        return _join(self.forward.raw, self.backward.raw)

    @property
    def truncated(self) -> bool:
        return self.forward.truncated or self.backward.truncated

    @property
    def prompt_tokens(self) -> int | None:
        return sum_known((self.forward.prompt_tokens, self.backward.prompt_tokens))

    @property
    def completion_tokens(self) -> int | None:
        return sum_known((self.forward.completion_tokens, self.backward.completion_tokens))


class PairJudge(Protocol):
    """Decides which of two answers is better."""

    # Model name → revision, for the provenance of the verdicts.
    revisions: dict[str, str]

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """Return one preference per pair, in order, from both orders of its answers; pairs do not influence each other."""
        ...


def combine_orders(forward: OrderVerdict, backward: OrderVerdict) -> Preference:
    """Combine two orders, both in the letters of the pair.

    The verdict is their common one, `invalid` if one of them is invalid, else `inconsistent`.
    """
    if forward.score is None or backward.score is None:
        return Preference("invalid", None, None, forward, backward)
    consistent = forward.verdict == backward.verdict
    score = (forward.score + backward.score) / 2
    return Preference(forward.verdict if consistent else "inconsistent", score, consistent, forward, backward)


def invalid_preference(reason: str) -> Preference:
    verdict = OrderVerdict("invalid", None, reason)
    return combine_orders(verdict, verdict)


def _join(forward: str | None, backward: str | None) -> str | None:
    if forward is None or backward is None or forward == backward:
        return forward if backward is None else backward
    return f"{forward}\n[other order]\n{backward}"
