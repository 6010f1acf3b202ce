"""Pairs, preferences, and the interface of a pairwise judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bert_judge.judges.protocol import sum_known

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
