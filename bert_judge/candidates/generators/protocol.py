"""Requests to a language model, its completions, and the interface of a generator."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bert_judge.tasks import Sample

# In characters: a server may quote the whole prompt in its error message.
MAX_REASON_LENGTH = 300


@dataclass(frozen=True)
class Request:
    """A prompt to complete.

    Attributes:
        prompt: text for the model, including the instructions of the prompt style.
        sample: the question behind the prompt; only simulated models may read its references.
        choices: if given, the completion must be one of these words; the generator enforces it where its backend can.
    """

    sample_id: str
    attempt: int
    prompt: str
    sample: Sample
    choices: tuple[str, ...] | None = None

    def seed(self, base_seed: int, bits: int = 63) -> int:
        """Derive a sampling seed of `bits` bits from prompt and attempt only, so that it depends on no other row and no task."""
        text = json.dumps([base_seed, self.prompt, self.attempt])
        return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> (64 - bits)


@dataclass(frozen=True)
class Completion:
    """The answer to a request.

    Attributes:
        status: one of `tables.STATUSES`.
        prompt_tokens, completion_tokens: None if the generator does not count them.
        choice_probabilities: for a request with choices, the probability of each choice, summing to 1; None if the backend
            returns no log-probabilities.
        reason: why there is no answer, in one line; always set for status `error`.
    """

    text: str
    status: str
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    choice_probabilities: Mapping[str, float] | None = None
    reason: str | None = None


def error_completion(reason: object, prompt_tokens: int | None = None) -> Completion:
    """Build the completion of a failed request from an exception or a sentence, shortened to one line."""
    return Completion("", "error", prompt_tokens=prompt_tokens, reason=" ".join(str(reason).split())[:MAX_REASON_LENGTH])


class Generator(Protocol):
    """A language model, loaded once."""

    # Model name → revision, for the provenance of the completions.
    revisions: dict[str, str]

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order. A failed request gets status `error` and a reason; it does not raise."""
        ...
