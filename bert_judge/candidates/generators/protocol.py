"""Requests to a language model, its completions, the parts of a completion, and the interface of a generator."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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
        similar: answers to other questions, for the wrong answers of simulated models (`find_similar_answers`).
    """

    sample_id: str
    attempt: int
    prompt: str
    sample: Sample
    choices: tuple[str, ...] | None = None
    similar: tuple[str, ...] = ()

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
            returns no log-probabilities. Near equal where the model would rather have said something else; see `flatten`.
        reason: why there is no answer, in one line; always set for status `error`.
        model: the name by which a server calls the model that replied; None if it names none.
    """

    text: str
    status: str
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    choice_probabilities: Mapping[str, float] | None = None
    reason: str | None = None
    model: str | None = None


def error_completion(reason: object, prompt_tokens: int | None = None) -> Completion:
    """Build the completion of a failed request from an exception or a sentence, shortened to one line."""
    return Completion("", "error", prompt_tokens=prompt_tokens, reason=" ".join(str(reason).split())[:MAX_REASON_LENGTH])


# Of English text, and of others in UTF-8 within a factor of two.
BYTES_PER_TOKEN = 4.0


def estimate_tokens(text: str) -> float:
    return len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN


class Generator(Protocol):
    """A language model, loaded once."""

    # Model name → revision, for the provenance of the completions.
    revisions: dict[str, str]

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order. A failed request gets status `error` and a reason; it does not raise."""
        ...


class SplitText(NamedTuple):
    """The reasoning of a completion without its markers, if any, the answer, and whether reasoning that was opened is closed."""

    reasoning: str | None
    answer: str
    finished: bool


def start_marker(end_marker: str) -> str | None:
    """Return the marker that opens the block closed by `end_marker` (`</think>` → `<think>`); None if it cannot be derived."""
    return end_marker.replace("/", "", 1) if "/" in end_marker else None


def split_reasoning(text: str, end_marker: str, in_reasoning: bool = False) -> SplitText:
    """Split a completion at its *last* end marker, since thinking may quote the marker or come in several blocks.

    A start marker counts only at the beginning of the completion or right after the last end marker: in the middle of an answer
    it is ordinary text.

    Args:
        in_reasoning: the prompt already ended inside a reasoning block, as with some chat templates.
    """
    start = start_marker(end_marker)
    before, marker, after = text.rpartition(end_marker)
    if start is not None and after.lstrip().startswith(start):
        return SplitText(_strip_marker(text, start), "", False)
    if marker:
        return SplitText(_strip_marker(before, start), after.strip(), True)
    if in_reasoning:
        return SplitText(_strip_marker(text, start), "", False)
    return SplitText(None, text.strip(), True)


def _strip_marker(text: str, start: str | None) -> str | None:
    text = text.strip()
    return (text.removeprefix(start).strip() if start else text) or None


class TokenStep(NamedTuple):
    """The text of a generated token, and the log-probabilities of the most likely ones, which may or may not include it."""

    token: str
    logprobs: Mapping[str, float]


def normalize(log_likelihoods: Mapping[str, float]) -> dict[str, float]:
    """Convert the log-likelihood of each choice to its probability given that it is one of them."""
    top = max(log_likelihoods.values())
    weights = {choice: math.exp(value - top) for choice, value in log_likelihoods.items()}
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()}


def choice_probabilities(choices: Sequence[str], steps: Sequence[TokenStep]) -> dict[str, float] | None:
    """Compute probabilities of the choices from the tokens of a completion; None if these lead to no choice.

    At every token the probability mass is divided among the likely tokens that continue some choice; other tokens (spellings,
    words) are ignored. Choices that leave the generated path with the same token share its mass equally.
    """
    probabilities = dict.fromkeys(choices, 0.0)
    possible, prefix, mass, matched = list(choices), "", 1.0, False
    for step in steps:
        if not prefix and not step.token.strip():
            continue
        leading = {
            text: value for text, value in step.logprobs.items() if math.isfinite(value) and _continuations(possible, prefix, text)
        }
        if not leading:
            break
        matched, shares = True, normalize(leading)
        for text, share in shares.items():
            if text != step.token:
                _add_mass(probabilities, _continuations(possible, prefix, text), mass * share)
        mass *= shares.get(step.token, 0.0)
        possible = _continuations(possible, prefix, step.token)
        prefix += step.token if prefix else step.token.lstrip()
        if len(possible) < 2:
            break
    _add_mass(probabilities, possible, mass)
    total = sum(probabilities.values())
    return {choice: value / total for choice, value in probabilities.items()} if matched and total > 0 else None


# A model that gives less to all choices together would rather have said something else.
SMALL_MASS = 0.5


def flatten(probabilities: Mapping[str, float], mass: float) -> dict[str, float]:
    """Return probabilities of the choices that are the more equal, the less the model gives to all of them together.

    Args:
        probabilities: given that it is one of the choices; returned unchanged from a mass of `SMALL_MASS` on.
        mass: from `choice_mass`.
    """
    weight = min(1.0, mass / SMALL_MASS)
    return {choice: weight * share + (1 - weight) / len(probabilities) for choice, share in probabilities.items()}


def choice_mass(choices: Sequence[str], steps: Sequence[TokenStep]) -> float:
    """Return the probability of all tokens together that begin a choice, at the first token of a completion that is not blank."""
    first = next((step for step in steps if step.token.strip()), None)
    if first is None:
        return 0.0
    likely = [value for text, value in first.logprobs.items() if _continuations(choices, "", text)]
    return min(1.0, sum(map(math.exp, likely)))


def _continuations(possible: Sequence[str], prefix: str, token: str) -> list[str]:
    """Return the choices that a token leads to. White space before the first letter is ignored, and capitals, since a model that
    is not restricted begins a reply with one; but not those of a single letter, which begins many words ("I", "A")."""
    text = prefix + token if prefix else token.lstrip()
    if not text:
        return []
    folded = {choice: choice.casefold() if len(text) > 1 else choice for choice in possible}
    text = text.casefold() if len(text) > 1 else text
    longer = [choice for choice, spelling in folded.items() if spelling.startswith(text) and text != prefix.casefold()]
    # A token may end a choice, with a full stop, a line break or the end of the answer.
    return longer or [c for c, spelling in folded.items() if text.startswith(spelling) and not text[len(c) :][:1].isalnum()]


def _add_mass(probabilities: dict[str, float], choices: Sequence[str], mass: float) -> None:
    for choice in choices:
        probabilities[choice] += mass / len(choices)
