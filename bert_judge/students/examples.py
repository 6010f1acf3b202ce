"""From chosen answers to what a language model is fitted to: prompts as it will be asked, and answers as it shall give them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_judge.errors import InputError
from bert_judge.generators.chat import FAILURES, PromptEncoder
from bert_judge.tasks.prompts import instruction

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


def encode(
    rows: Sequence[Mapping[str, Any]],
    encoder: PromptEncoder,
    ends: frozenset[int],
    families: Mapping[str, str],
    style: str,
    longest: int,
) -> tuple[list[Example], int]:
    """The rows in tokens, in their order, and how many are left out because they are too long or cannot be encoded.

    Args:
        rows: of a table of chosen answers.
        encoder: of the model that learns.
        ends: tokens that end an answer.
        families: task → family, for the prompt's wording.
        style: of the prompts.
        longest: prompt and answer together, in tokens.

    Raises:
        InputError: nothing is left.
    """
    found = []
    for row in rows:
        try:
            example = dialogue(encoder, row["question"] + instruction(families[row["task"]], style), row["candidate"], ends)
        except FAILURES as error:
            log.warning("%s cannot be learnt from: %s", row["sample_id"], " ".join(str(error).split()))
            continue
        if len(example) <= longest:
            found.append(example)
    left_out = len(rows) - len(found)
    if left_out:
        log.warning("%d of %d answers are left out: with their prompt they have more than %d tokens", left_out, len(rows), longest)
    if not found:
        raise InputError(f"max_length: none of {len(rows)} answers fits into {longest} tokens; raise it, or filter other answers")
    return found, left_out


def dialogue(encoder: PromptEncoder, prompt: str, answer: str, ends: frozenset[int]) -> Example:
    """A prompt with its answer, as the chat template writes them; without a template, the plain texts.

    The prompt has the tokens that it has when the model is asked. What the template puts between prompt and answer, such as an
    empty reasoning block, is part of the answer: the model has to write it itself.
    """
    asked, _ = encoder.encode(prompt)
    ids = encoder.tokens(_after_prompt(encoder, prompt, answer))
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
    asked, whole = (encoder.text(prompt, said) for said in (None, answer))
    # Some templates write a turn that has ended otherwise than one that begins.
    return whole.removeprefix(asked) if whole.startswith(asked) else answer
