"""What a pairwise judge takes and gives, and what two orders come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

MIRRORED = {"A": "B", "B": "A"}


@dataclass(frozen=True)
class Pair:
    """Two answers to one question.

    Attributes:
        question: may be a whole conversation (`turns.conversation`).
        references: right or good answers; empty where there is none.
    """

    question: str
    answer_a: str
    answer_b: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Opinion:
    """What a judge says of one order.

    Attributes:
        verdict: one of `tables.ORDER_VERDICTS`, in the letters of the pair, whichever answer was shown first.
        score: how likely A is the better one, a tie counting half, in [0, 1]; None when invalid.
        reason: why a verdict is invalid, or what decided it.
        raw: the judge's own words or scores.
        truncated: the judge did not see the whole pair.
    """

    verdict: str
    score: float | None
    reason: str | None = None
    raw: str | None = None
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Preference:
    """What both orders together come to.

    Attributes:
        verdict: one of `tables.PAIR_VERDICTS`.
        score: mean of the scores of the two orders, in [0, 1]; None when invalid.
        consistent: both orders say the same; None when one of them says nothing.
        forward, backward: with A shown first, and with B shown first; both in the letters of the pair.
    """

    verdict: str
    score: float | None
    consistent: bool | None
    forward: Opinion
    backward: Opinion

    @property
    def reason(self) -> str | None:
        """The reasons of both orders; one, where they are the same."""
        return _joined(self.forward.reason, self.backward.reason)

    @property
    def raw(self) -> str | None:
        """The judge's words on both orders."""
        return _joined(self.forward.raw, self.backward.raw)

    @property
    def truncated(self) -> bool:
        return self.forward.truncated or self.backward.truncated

    @property
    def prompt_tokens(self) -> int | None:
        return _total(self.forward.prompt_tokens, self.backward.prompt_tokens)

    @property
    def completion_tokens(self) -> int | None:
        return _total(self.forward.completion_tokens, self.backward.completion_tokens)


class PairJudge(Protocol):
    """Decides which of two answers is better."""

    # Model name → revision, for the provenance of what it wrote.
    revisions: dict[str, str]

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """One preference per pair, in their order, from both orders of its answers; a pair does not depend on the other pairs."""
        ...


def swapped(pair: Pair) -> Pair:
    """The same two answers, shown the other way round."""
    return replace(pair, answer_a=pair.answer_b, answer_b=pair.answer_a)


def mirrored(opinion: Opinion) -> Opinion:
    """The opinion in the letters of the swapped pair."""
    score = None if opinion.score is None else 1.0 - opinion.score
    return replace(opinion, verdict=MIRRORED.get(opinion.verdict, opinion.verdict), score=score)


def both_orders(forward: Opinion, backward: Opinion) -> Preference:
    """What two orders come to: a verdict that they share, `invalid` when one of them says nothing, else `inconsistent`.

    Args:
        forward: with A shown first.
        backward: with B shown first, in the letters of the pair (see `symmetric`).
    """
    if forward.score is None or backward.score is None:
        return Preference("invalid", None, None, forward, backward)
    same = forward.verdict == backward.verdict
    score = (forward.score + backward.score) / 2
    return Preference(forward.verdict if same else "inconsistent", score, same, forward, backward)


def abstained(reason: str) -> Preference:
    """A pair on which there can be no verdict."""
    nothing = Opinion("invalid", None, reason)
    return both_orders(nothing, nothing)


def _joined(forward: str | None, backward: str | None) -> str | None:
    if forward is None or backward is None or forward == backward:
        return forward if backward is None else backward
    return f"{forward}\n[other order]\n{backward}"


def _total(forward: int | None, backward: int | None) -> int | None:
    return backward if forward is None else forward if backward is None else forward + backward
