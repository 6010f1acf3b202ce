"""What a language model is fitted to: prompts as it will be asked, and texts as it shall write them, in tokens."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """A prompt and its answer in tokens.

    Attributes:
        prompt: what the model reads; nothing is learnt from it.
        answer: what it shall write, up to the token that ends an answer.
    """

    prompt: list[int]
    answer: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


def fitting_in(examples: Sequence[Example | None], longest: int, remedy: str) -> tuple[list[Example], int]:
    """Those that a model can read whole, in their order, and how many are left out; None is one that could not be encoded.

    Args:
        longest: prompt and answer together, in tokens.
        remedy: what to do when nothing is left, beside raising `max_length`.

    Raises:
        InputError: nothing is left.
    """
    found = [example for example in examples if example is not None and len(example) <= longest]
    left_out = len(examples) - len(found)
    if left_out:
        log.warning(
            "%d of %d texts are left out: with their prompt they have more than %d tokens", left_out, len(examples), longest
        )
    if not found:
        raise InputError(f"max_length: none of {len(examples)} texts fits into {longest} tokens; raise it, or {remedy}")
    return found, left_out


def dialogue(encoder: PromptEncoder, prompt: str, answer: str, ends: frozenset[int]) -> Example:
    """A prompt with its answer, as the chat template writes them; without a template, the plain texts.

    The prompt has the tokens that it has when the model is asked. What the template puts between prompt and answer, such as an
    empty reasoning block, is part of the answer: the model has to write it itself.
    """
    asked, _ = encoder.encode(prompt)
    ids = encoder.tokenize(_after_prompt(encoder, prompt, answer))
    # What follows the end is the template's preparation for another turn.
    stop = next((place for place, token in enumerate(ids) if token in ends), None)
    end = encoder.tokenizer.eos_token_id if encoder.tokenizer.eos_token_id is not None else min(ends, default=None)
    closing = [] if end is None else [end]
    return Example(asked, ids[: stop + 1] if stop is not None else [*ids, *closing])


def _after_prompt(encoder: PromptEncoder, prompt: str, answer: str) -> str:
    """The answer with what the chat template writes around it."""
    if encoder.template is None:
        # As a text goes on after a prompt that ends in a line of its own.
        return f"\n{answer}"
    asked, whole = (encoder.render(prompt, said) for said in (None, answer))
    # Some templates write a turn that has ended otherwise than one that begins.
    return whole.removeprefix(asked) if whole.startswith(asked) else answer


def at_once(encoder: PromptEncoder, prompt: str, parts: Sequence[str], ends: frozenset[int]) -> Example:
    """A prompt with a text that begins right behind it, as a model is asked to begin that must choose among a few texts.

    The parts become tokens one by one, so the first has exactly the tokens that it has as a choice, whatever follows it.

    Raises:
        InputError: the chat template opens a reasoning block, behind which no choice would stand.
    """
    asked, opened = encoder.encode(prompt)
    if opened:
        raise InputError("the chat template opens a reasoning block, and the answer must come at once; set thinking: false")
    # What ends any answer of this model, by its template.
    closing = [token for token in dialogue(encoder, "?", "0", ends).answer[-1:] if token in ends]
    return Example(asked, [token for part in parts for token in encoder.tokenize(part)] + closing)
