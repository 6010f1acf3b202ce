"""Training examples of a language model: token ids of a prompt, as in generation, and of the completion to learn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """A prompt, read without loss, and its completion with the end token, both in tokens."""

    prompt: list[int]
    completion: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.completion)


def select_fitting(examples: Sequence[Example | None], max_length: int, fix: str) -> tuple[list[Example], int]:
    """Return the examples that fit into the model's context, in order, and the number left out.

    Args:
        examples: None for a row that could not be encoded.
        max_length: prompt and completion together, in tokens.
        fix: what to do if none is left, besides raising `max_length`.

    Raises:
        InputError: all examples are too long.
    """
    fitting = [example for example in examples if example is not None and len(example) <= max_length]
    left_out = len(examples) - len(fitting)
    if left_out:
        log.warning("%d of %d texts are left out: prompt and completion exceed %d tokens", left_out, len(examples), max_length)
    if not fitting:
        raise InputError(f"max_length: none of {len(examples)} texts fits into {max_length} tokens; raise it, or {fix}")
    return fitting, left_out


def encode_dialogue(encoder: PromptEncoder, prompt: str, answer: str, eos_ids: frozenset[int]) -> Example:
    """Encode a prompt with its answer as the chat template writes them; without a template, the plain texts.

    The prompt has the same tokens as in generation. Text that the template puts between prompt and answer, such as an empty
    reasoning block, belongs to the completion: the model has to generate it.
    """
    prompt_ids, _ = encoder.encode(prompt)
    ids = encoder.tokenize(_rendered_answer(encoder, prompt, answer))
    # After the end token, the template prepares another turn.
    end = next((position for position, token in enumerate(ids) if token in eos_ids), None)
    if end is not None:
        return Example(prompt_ids, ids[: end + 1])
    eos_id = encoder.tokenizer.eos_token_id if encoder.tokenizer.eos_token_id is not None else min(eos_ids, default=None)
    return Example(prompt_ids, [*ids, *([] if eos_id is None else [eos_id])])


def _rendered_answer(encoder: PromptEncoder, prompt: str, answer: str) -> str:
    """Return the answer with the text that the chat template adds."""
    if encoder.template is None:
        # A completion of a plain prompt starts on a new line.
        return f"\n{answer}"
    start, rendered = encoder.render(prompt), encoder.render(prompt, answer)
    # Some templates render a finished turn differently from one that begins.
    return rendered.removeprefix(start) if rendered.startswith(start) else answer


def encode_completion(encoder: PromptEncoder, prompt: str, segments: Sequence[str], eos_ids: frozenset[int]) -> Example:
    """Encode a prompt with a completion that follows it directly, as in a request with choices.

    The segments are tokenized separately, so the first has the same tokens as a choice, regardless of the following text.

    Raises:
        InputError: the chat template opens a reasoning block, which a choice cannot follow.
    """
    prompt_ids, in_reasoning = encoder.encode(prompt)
    if in_reasoning:
        raise InputError("the chat template opens a reasoning block, but the answer must follow directly; set thinking: false")
    # The end token of any answer, according to the template.
    end = [token for token in encode_dialogue(encoder, "?", "0", eos_ids).completion[-1:] if token in eos_ids]
    return Example(prompt_ids, [token for segment in segments for token in encoder.tokenize(segment)] + end)
