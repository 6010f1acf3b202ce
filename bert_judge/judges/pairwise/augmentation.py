"""What is done to labelled pairs before a judge learns from them: pure functions on rows, drawn by the row's content.

`swap`, `support_reference` and `drop_reference` follow JudgeLM (Zhu et al. 2023, section 4); each has its own share. A swap that is
drawn once leaves data alone whose labels favour no place; `both_orders` shows the judge each pair from both sides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.protocol import Pair, swapped
from bert_judge.runtime import keyed_random

# What a text may call the two answers: the noun, and what tells them apart.
_NAMED = r"\b(?P<noun>assistant|answer|response|candidate|output|model|ai)(?P<gap>[ _-]?)(?P<which>[12]|[AB])\b"
_IN_REASON = re.compile(_NAMED, re.IGNORECASE)
# A question may ask for "the answer 1's digit"; a reason says "Assistant 1's answer".
_IN_QUESTION = re.compile(rf"{_NAMED}(?!['’])", re.IGNORECASE)
_OTHER = {"1": "2", "2": "1", "A": "B", "B": "A"}
REFERENCE = "Reference answer: "


@dataclass(frozen=True)
class Example:
    """A labelled pair.

    Attributes:
        label: 1 where A is better, 0 where B is, 0.5 for a tie; what several people say may lie between.
        reason: why, in words; None where nobody says.
    """

    pair: Pair
    label: float
    reason: str | None = None


def augmented(examples: Sequence[Example], settings: PairAugment, seed: int) -> list[Example]:
    """The rows to train on: the same rows in the same order, some of them changed, and behind them the copies.

    A row's fate depends on its content and the seed alone. The shares do not depend on each other.
    """
    changed = [_changed(example, settings, seed) for example in examples]
    turned = [
        swap(made)
        for example, made in zip(examples, changed, strict=True)
        if _falls(example, settings.both_orders, "both orders", seed)
    ]
    copies = [
        replace(example, pair=supported(example.pair))
        for example in examples
        if example.pair.references and _falls(example, settings.support_reference, "support", seed)
    ]
    return [*changed, *turned, *copies]


def swap(example: Example) -> Example:
    """The same two answers in each other's place: answers, label, and what question and reason call them."""
    pair = swapped(example.pair)
    reason = None if example.reason is None else swapped_names(example.reason, _IN_REASON)
    return Example(replace(pair, question=swapped_names(pair.question)), 1.0 - example.label, reason)


def swapped_names(text: str, named: re.Pattern[str] = _IN_QUESTION) -> str:
    """The text with "Assistant 1" for "Assistant 2", "response B" for "response A" and so on, each in its own case.

    A text that names one of the two in several ways keeps each way. Letters count only in capitals: "answer a" is a phrase.
    """

    def other(found: re.Match[str]) -> str:
        which = found["which"]
        return f"{found['noun']}{found['gap']}{_OTHER[which]}" if which in _OTHER else found[0]

    return named.sub(other, text)


def without_references(pair: Pair) -> Pair:
    """The pair as a judge sees it that has no reference."""
    return replace(pair, references=())


def supported(pair: Pair) -> Pair:
    """The pair with its first reference in the question's own text, and no other."""
    if not pair.references:
        return pair
    return replace(pair, question=f"{pair.question}\n\n{REFERENCE}{pair.references[0]}", references=())


def _changed(example: Example, settings: PairAugment, seed: int) -> Example:
    if example.pair.references and _falls(example, settings.drop_reference, "drop", seed):
        found = replace(example, pair=without_references(example.pair))
    else:
        found = example
    return swap(found) if _falls(example, settings.swap, "swap", seed) else found


def _falls(example: Example, share: float, what: str, seed: int) -> bool:
    pair = example.pair
    return keyed_random.fraction(what, seed, pair.question, *pair.references, "answers", pair.answer_a, pair.answer_b) < share
