"""Much text around an answer, or in place of one."""

from __future__ import annotations

from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, attack, benign_perturbation
from bert_judge.runtime.keyed_random import KeyedRandom

VERBOSITY = "arXiv 2306.05685"
DISTRACTION = "arXiv 1707.07328"
# Sentences that go with any question and answer none.
SENTENCES = (
    "Questions of this kind come up again and again, and it is worth taking the time to look at them calmly.",
    "Before anything else, it helps to be clear about the terms that are used and about the context in which they are used.",
    "There is a large literature on the subject, and not all of it agrees in every detail.",
    "Many people find the topic interesting because it touches on things that they meet in everyday life.",
    "A careful reader will want to consult more than one source and to compare what they say.",
    "It should also be kept in mind that the state of knowledge changes over time.",
    "Experts have written about this at length, and their accounts make for rewarding reading.",
    "None of this is meant to be exhaustive; it merely outlines how one may think about such matters.",
    "In general, a structured approach leads to better results than guessing does.",
    "With these remarks in mind, the matter can be looked at from several sides.",
    "What makes the question attractive is that it looks simple and still rewards some thought.",
    "The background is rich in anecdotes, which unfortunately lie outside the scope of this text.",
)
LONG = 40


def filler(rng: KeyedRandom, sentences: int) -> str:
    """So many sentences without content, the same ones again when there are not enough."""
    order = [sentence for turn in range(sentences // len(SENTENCES) + 1) for sentence in rng.shuffled(SENTENCES, f"turn {turn}")]
    return " ".join(order[:sentences])


@attack(VERBOSITY)
def long_without_answer(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A long text that gives no answer."""
    yield filler(rng, LONG)


@attack(VERBOSITY)
def short_without_answer(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """One or two sentences that give no answer."""
    yield filler(rng, rng.integers(1, 2, "sentences"))


@attack(DISTRACTION)
def wrong_and_long(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A wrong answer at the beginning or end of a long text."""
    if subject.other:
        text, said = filler(rng, LONG), f"The answer: {subject.other}."
        yield f"{said} {text}" if rng.bernoulli(0.5, "first") else f"{text} {said}"


@attack(VERBOSITY)
def wrong_and_repeated(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A wrong answer, said many times."""
    if subject.other:
        yield f"{subject.other}. " * 30


@benign_perturbation(VERBOSITY)
def right_then_long(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, then a very long text."""
    if subject.name:
        yield f"The answer: {subject.name}. {filler(rng, LONG)}"


@benign_perturbation(VERBOSITY)
def long_then_right(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A very long text, then the right answer."""
    if subject.name:
        yield f"{filler(rng, LONG)} The answer: {subject.name}."


@benign_perturbation(VERBOSITY)
def right_then_a_little(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, then two sentences of no matter."""
    if subject.name:
        yield f"{subject.name}. {filler(rng, 2)}"


@benign_perturbation(VERBOSITY)
def right_and_repeated(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, said several times."""
    if subject.name:
        yield rng.choose((f"{subject.name}. " * 8, f"{subject.name}\n" * 5, f"{subject.name}, yes, {subject.name}."), "form")
