"""What a family of attacks is, what it gets, and the list of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bert_judge.runtime.keyed_random import KeyedRandom

Kind = Literal["attack", "benign_perturbation"]
MOST_WORDS_OF_A_NAME, MOST_WORDS_OF_AN_ANSWER = 12, 60
# "It is not yes" is no sentence.
BINARY = frozenset({"yes", "no", "true", "false"})


@dataclass(frozen=True)
class Subject:
    """A question that is answered by tricks.

    Attributes:
        references: right answers.
        others: wrong answers of the same shape, different ones: references of other questions, or other options' letters.
        options: letter → text, for multiple choice; else empty.
    """

    question: str
    references: tuple[str, ...]
    others: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str | None:
        """The right answer in its own words, for multiple choice its letter; None when it is empty or very long."""
        letters = [reference for reference in self.references if reference in self.options]
        fitting = [text for text in (*letters, *self.references) if 0 < len(text.split()) <= MOST_WORDS_OF_AN_ANSWER]
        return fitting[0] if fitting else None

    @property
    def name(self) -> str | None:
        """The right answer where it fits into a sentence: a name, a number, a phrase."""
        answer = self.answer
        short = answer is not None and len(answer.split()) <= MOST_WORDS_OF_A_NAME and answer.strip(" .").casefold() not in BINARY
        return answer if short else None

    @property
    def other(self) -> str | None:
        """A wrong answer of the same shape."""
        return self.others[0] if self.others else None


Make = Callable[[Subject, KeyedRandom], Iterable[str]]


@dataclass(frozen=True)
class Family:
    """One pattern.

    Attributes:
        name: one word.
        kind: `attack`, whose right verdict is incorrect, or `benign_perturbation`, whose right verdict is correct.
        theme: the file that it stands in.
        source: who described the pattern.
        quotes: the text of an attack may hold a reference, which it denies, retracts or hides; one of another family that happens
            to is left out, because nobody could say that it is wrong.
        says: what the pattern is, in a sentence.
        make: the answers that it makes of a subject; none where it does not fit. It depends on its arguments alone.
    """

    name: str
    kind: Kind
    theme: str
    source: str
    quotes: bool
    says: str
    make: Make

    @property
    def right_verdict(self) -> str:
        return "correct" if self.kind == "benign_perturbation" else "incorrect"


REGISTRY: dict[str, Family] = {}


def attack(source: str, quotes: bool = False) -> Callable[[Make], Make]:
    """Registers a function as a family whose answers are wrong; its docstring says what it is."""
    return _registered("attack", source, quotes)


def benign_perturbation(source: str) -> Callable[[Make], Make]:
    """Registers a function as a family whose answers are right."""
    return _registered("benign_perturbation", source, True)


def _registered(kind: Kind, source: str, quotes: bool) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        name, theme = make.__name__, make.__module__.rpartition(".")[2]
        if name in REGISTRY:
            raise ValueError(f"{make.__module__}: a family {name} stands in {REGISTRY[name].theme} already")
        says = " ".join((make.__doc__ or "").split())
        REGISTRY[name] = Family(name, kind, theme, source, quotes, says, make)
        return make

    return register
