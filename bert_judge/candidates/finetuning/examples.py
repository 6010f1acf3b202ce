"""Training examples of a language model: token ids of a prompt, as in generation, and of the completion to learn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bert_judge.candidates.generators.tokenization import ENCODING_ERRORS, PromptEncoder
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

Target = TypeVar("Target")


@dataclass(frozen=True)
class Example:
    """A prompt, read without loss, and its completion with the end token, both in tokens."""

    prompt: list[int]
    completion: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.completion)


def encode_examples(
    encode: Callable[[str, Target], Example], pairs: Iterable[tuple[str, Target]], max_length: int, fix: str
) -> tuple[list[Example], int]:
    """Encode prompts with their targets; return the examples that fit into the model's context, and the number left out.

    Args:
        max_length: prompt and completion together, in tokens.
        fix: what to do if none is left, besides raising `max_length`.

    Raises:
        InputError: none is left.
    """
    examples: list[Example] = []
    left_out = 0
    for prompt, target in pairs:
        try:
            example = encode(prompt, target)
        except ENCODING_ERRORS as error:
            log.warning("%.60s… cannot be encoded: %s", target, " ".join(str(error).split()))
            left_out += 1
            continue
        if len(example) <= max_length:
            examples.append(example)
        else:
            left_out += 1
    total = len(examples) + left_out
    if left_out:
        log.warning("%d of %d texts are left out: prompt and completion exceed %d tokens", left_out, total, max_length)
    if not examples:
        raise InputError(f"max_length: none of {total} texts fits into {max_length} tokens; raise it, or {fix}")
    return examples, left_out


def encode_dialogue(encoder: PromptEncoder, eos_ids: frozenset[int], prompt: str, answer: str) -> Example:
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


def encode_completion(encoder: PromptEncoder, eos_ids: frozenset[int], prompt: str, segments: Sequence[str]) -> Example:
    """Encode a prompt with a completion that follows it directly, as in a request with choices.

    The segments are tokenized separately, so the first has the same tokens as a choice, regardless of the following text.

    Raises:
        InputError: the chat template opens a reasoning block, which a choice cannot follow.
    """
    prompt_ids, in_reasoning = encoder.encode(prompt)
    if in_reasoning:
        raise InputError("the chat template opens a reasoning block, but the answer must follow directly; set thinking: false")
    # The end token of any answer, according to the template.
    end = [token for token in encode_dialogue(encoder, eos_ids, "?", "0").completion[-1:] if token in eos_ids]
    return Example(prompt_ids, [token for segment in segments for token in encoder.tokenize(segment)] + end)
