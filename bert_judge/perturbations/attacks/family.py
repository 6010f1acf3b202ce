"""Families of attacks: one pattern of answers each, whose correct verdict is known by construction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bert_judge.runtime.keyed_random import KeyedRandom

Kind = Literal["attack", "benign_perturbation"]
MAX_WORDS_SHORT_ANSWER, MAX_WORDS_ANSWER = 12, 60
# Not usable in sentences: "It is not yes".
YES_NO = frozenset({"yes", "no", "true", "false"})
PLACEHOLDER = re.compile(r"\{(question|answer|short_answer|wrong_answer|option_text|first_answer|second_answer)\}")


@dataclass(frozen=True)
class AttackedQuestion:
    """A question that a family generates answers to.

    Attributes:
        references: correct answers.
        wrong_answers: different ones of the same form: references of other questions, or letters of other options.
        options: letter → text, for multiple choice; else empty.
    """

    question: str
    references: tuple[str, ...]
    wrong_answers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The correct answer, for multiple choice its letter; empty if it is very long."""
        letters = [reference for reference in self.references if reference in self.options]
        return next((text for text in (*letters, *self.references) if 0 < len(text.split()) <= MAX_WORDS_ANSWER), "")

    @property
    def short_answer(self) -> str:
        """The correct answer if it fits into a sentence: a name, a number, a phrase; else empty."""
        fits = len(self.answer.split()) <= MAX_WORDS_SHORT_ANSWER and self.answer.strip(" .").casefold() not in YES_NO
        return self.answer if fits else ""

    @property
    def wrong_answer(self) -> str:
        """A wrong answer of the same form; empty if there is none."""
        return next(iter(self.wrong_answers), "")

    @property
    def option_text(self) -> str:
        """The text of the correct option, for multiple choice; else empty."""
        return self.options.get(self.answer, "")


Generator = Callable[[AttackedQuestion, KeyedRandom, "Family"], list[str]]


def fill_phrases(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> list[str]:
    """Draw phrases of a family and fill in their placeholders; none if the question lacks one."""
    [(draw, phrases)] = family.phrases.items()
    names = ("question", "answer", "option_text", "short_answer", "wrong_answer")
    values: dict[str, str] = {name: getattr(question, name) for name in names}
    if question.short_answer and question.wrong_answer:
        order = rng.shuffled((question.short_answer, question.wrong_answer), "order")
        values["first_answer"], values["second_answer"] = order
    required = {name for phrase in phrases for name in PLACEHOLDER.findall(phrase)} - {"question"}
    if not all(values.get(name) for name in required):
        return []
    selected = [family.choose(rng, draw)] if family.count == 1 else rng.shuffled(phrases, draw)[: family.count]
    return [PLACEHOLDER.sub(lambda match: values[match[1]], phrase) for phrase in selected]


@dataclass(frozen=True)
class Family:
    """One pattern of answers, an entry of families.yaml, which describes the attributes.

    Attributes:
        kind: `attack`, whose answers are incorrect, or `benign_perturbation`, whose answers are correct.
        source: publication that describes the pattern.
        quotes_reference: the text of an attack may contain a reference.
        multiple_choice: False to skip multiple-choice questions.
    """

    name: str
    theme: str
    source: str
    description: str
    kind: Kind = "attack"
    quotes_reference: bool = False
    multiple_choice: bool = True
    count: int = 1
    phrases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    replacements: Mapping[str, str] = field(default_factory=dict)
    generator: Generator = fill_phrases

    def generate(self, question: AttackedQuestion, rng: KeyedRandom) -> list[str]:
        """Generate the family's answers to a question; none if it does not fit."""
        return [] if question.options and not self.multiple_choice else self.generator(question, rng, self)

    def choose(self, rng: KeyedRandom, draw: str) -> str:
        """Draw one of the phrases of this name."""
        return rng.choose(self.phrases[draw], draw)
