"""What a generator takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
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
    """

    sample_id: str
    attempt: int
    prompt: str
    sample: Sample


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the answer without its reasoning block.
        status: one of `tables.STATUSES`.
        reasoning: the reasoning block, when there is one.
        prompt_tokens, completion_tokens: None where the generator does not count.
    """

    text: str
    status: str
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Generator(Protocol):
    """Holds one model, loaded once, and answers requests."""

    # Model name → revision, for the provenance of what it wrote.
    revisions: dict[str, str]

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order. A request that fails gets status `error`; it does not raise."""
        ...
