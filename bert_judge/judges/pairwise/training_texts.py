"""From labelled pairs to what a language model is fitted to: the prompt that it will be asked, and scores with reasons."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.finetuning import examples as tuning
from bert_judge.candidates.generators.tokenization import ENCODING_ERRORS, PromptEncoder
from bert_judge.judges.pairwise import prompting
from bert_judge.judges.pairwise.augmentation import Example

log = logging.getLogger(__name__)


def scores(label: float) -> str:
    """The line of scores that a label stands for, one of `prompting.SCORES`: 9 1 where A is better, 5 5 for a tie.

    Args:
        label: 1 where A is better, 0 where B is; what several people say may lie between. The mirrored label has the mirrored line.
    """
    return prompting.SCORES[len(prompting.SCORES) - 1 - round(label * (len(prompting.SCORES) - 1))]


def target(example: Example) -> list[str]:
    """What shall be written of a pair: the scores, and from the next line on the reason, where there is one."""
    reason = (example.reason or "").strip()
    return [scores(example.label), *([f"\n{reason}"] if reason else [])]


def encode(
    examples: Sequence[Example], encoder: PromptEncoder, ends: frozenset[int], settings: Mapping[str, Any], longest: int
) -> tuple[list[tuning.Example], int]:
    """The pairs in tokens, in their order, each in the order in which it stands; and how many are left out.

    A pair whose prompt and target are longer together than the model reads is left out whole: a prompt that was cut is none that
    it will be asked, and a target that was cut would teach to break off.

    Args:
        ends: tokens that end an answer.
        settings: `seed` and `max_answer_chars` of the judge, with which it will be asked.
        longest: in tokens.

    Raises:
        InputError: nothing is left, or the chat template opens a reasoning block.
    """
    found: list[tuning.Example | None] = []
    for example in examples:
        case = prompting.shown(example.pair, settings["seed"], settings["max_answer_chars"])
        try:
            found.append(tuning.at_once(encoder, prompting.prompt(case, prompting.TUNED), target(example), ends))
        except ENCODING_ERRORS as error:
            log.warning("%.40s… cannot be learnt from: %s", example.pair.question, " ".join(str(error).split()))
            found.append(None)
    return tuning.fitting_in(found, longest, "lower max_answer_chars")
