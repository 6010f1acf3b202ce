"""What a generator takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bert_judge.tasks import Sample


@dataclass(frozen=True)
class Request:
    """One answer that is wanted.

    Attributes:
        sample_id, attempt: identity of the answer.
        prompt: the text for the model, instructions of the prompt style included.
        sample: the question behind the prompt; only simulated models may look at its references.
        choices: when given, the answer must be one of these words; the generator enforces it where its back end can.
    """

    sample_id: str
    attempt: int
    prompt: str
    sample: Sample
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the answer without its reasoning block.
        status: one of `tables.STATUSES`.
        reasoning: the reasoning block, when there is one.
        prompt_tokens, completion_tokens: None where the generator does not count.
        choice_probabilities: for a request with choices, how probable each of them was, summing to 1; None where the back end
            gives no log-probabilities.
        reason: why there is no answer, in one line; an `error` always has one.
    """

    text: str
    status: str
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    choice_probabilities: Mapping[str, float] | None = None
    reason: str | None = None


# Longest reason, in characters; a server may quote the whole prompt.
REASON_LENGTH = 300


def failed(reason: object, prompt_tokens: int | None = None) -> Completion:
    """The completion of a request that has none: its reason is the text of an error or a sentence, made one short line."""
    return Completion("", "error", prompt_tokens=prompt_tokens, reason=" ".join(str(reason).split())[:REASON_LENGTH])


class Generator(Protocol):
    """Holds one model, loaded once, and answers requests."""

    # Model name → revision, for the provenance of what it wrote.
    revisions: dict[str, str]

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order. A request that fails gets status `error` and a reason; it does not raise."""
        ...
