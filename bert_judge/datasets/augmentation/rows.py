"""What the kinds of made-up rows share: the labelled row, other questions' answers, and ways to say an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bert_judge.judges.lexical import judge
from bert_judge.judges.lexical.choices import options_of
from bert_judge.judges.lexical.normalization import words
from bert_judge.runtime.keyed_random import KeyedRandom

# Longer references are sentences: they are said as they are, and are no answers to other questions.
MOST_WORDS = 12
# Words of a right answer that can be a reference: a sentence or two.
SENTENCE = range(4, 41)
# So many of the others are looked at for one that resembles an answer.
LOOKED_AT = 8
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
ASKS_FOR_A_PERSON = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
PHRASES = (
    "{}.",
    "It is {}.",
    "It was {}.",
    "The answer is {}.",
    "Answer: {}",
    "Final answer: {}",
    "**{}**",
    "\\boxed{{{}}}",
    "I think it is {}.",
    "{} is the answer.",
    "As far as I know, the answer is {}.",
)


@dataclass(frozen=True)
class Row:
    """A labelled answer."""

    question: str
    references: tuple[str, ...]
    candidate: str
    right: bool

    @property
    def options(self) -> Mapping[str, str]:
        """Letter → text, for multiple choice; else empty."""
        return options_of(self.question)

    @property
    def short_references(self) -> list[str]:
        """References that are names, numbers or phrases."""
        return [text for text in self.references if 0 < len(text.split()) <= MOST_WORDS]


@dataclass(frozen=True)
class Made:
    """What a row became."""

    references: Sequence[str]
    candidate: str
    right: bool


class Others:
    """What other rows have to lend: short references, and right answers that are sentences.

    Args:
        references: per row its references.
        labelled: whose right answers are lent; none, where only references are.
    """

    def __init__(self, references: Iterable[Sequence[str]], labelled: Iterable[Row] = ()) -> None:
        sets = dict.fromkeys(tuple(texts) for texts in references)
        self.sets = [texts for texts in sets if all(0 < len(text.split()) <= MOST_WORDS for text in texts)]
        right: dict[str, set[str]] = {}
        for row in labelled:
            if row.right and len(row.candidate.split()) in SENTENCE and contains(row.candidate, row.references):
                right.setdefault(row.question, set()).add(row.candidate)
        # Sorted: what is lent must not depend on the order of the rows.
        self._right = {question: sorted(texts) for question, texts in right.items()}

    def right_answers(self, question: str) -> Sequence[str]:
        """Right answers to a question, each a sentence or two that hold a reference; maybe none."""
        return self._right.get(question, ())

    def like(self, text: str, rng: KeyedRandom) -> Sequence[str]:
        """References of one question that resemble a text: with a number or without, and of similar length; maybe none."""
        if not self.sets:
            return ()
        drawn = [rng.choose(self.sets, f"other {i}") for i in range(LOOKED_AT)]
        return min(drawn, key=lambda texts: _unlike(texts[0], text))


def _unlike(one: str, other: str) -> tuple[bool, int]:
    return _numeric(one) != _numeric(other), abs(len(one.split()) - len(other.split()))


def _numeric(text: str) -> bool:
    return any(character.isdigit() for character in text)


def said(answer: str, rng: KeyedRandom) -> str:
    """An answer as it is, or in a phrase around it."""
    if len(answer.split()) > MOST_WORDS or rng.bernoulli(0.5, "bare"):
        return answer
    return rng.choose(PHRASES, "phrase").format(answer)


def contains(text: str, references: Iterable[str]) -> bool:
    """Does a text hold one of the references, word for word?"""
    there = words(text)
    return any(judge.contains(words(reference), there) for reference in references)


def shares_words(text: str, references: Iterable[str]) -> bool:
    """Does a text have a third of a reference's words or more? Then who knows whether it is wrong."""
    there = set(words(text))
    return any(sum(word in there for word in wanted) >= len(wanted) / 3 for wanted in map(words, references) if wanted)
