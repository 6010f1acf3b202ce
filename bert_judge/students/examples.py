"""From chosen answers to what a student is fitted to."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.finetuning.examples import Example, dialogue, fitting_in
from bert_judge.candidates.generators.tokenization import ENCODING_ERRORS, PromptEncoder
from bert_judge.tasks.prompts import instruction

log = logging.getLogger(__name__)


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
    found: list[Example | None] = []
    for row in rows:
        try:
            found.append(dialogue(encoder, row["question"] + instruction(families[row["task"]], style), row["candidate"], ends))
        except ENCODING_ERRORS as error:
            log.warning("%s cannot be learnt from: %s", row["sample_id"], " ".join(str(error).split()))
            found.append(None)
    return fitting_in(found, longest, "filter other answers")
