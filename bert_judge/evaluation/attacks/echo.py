"""The question given back."""

from __future__ import annotations

from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, attack
from bert_judge.runtime.keyed_random import KeyedRandom

FRAMES = (
    "The question is: {0}",
    "You ask: “{0}” That is a good question.",
    "{0}\n\nThis is what has to be answered.",
    "Let me repeat the question: {0} {0}",
)
MOST_WORDS = 60


@attack("arXiv 2505.22203")
def question(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The question, word for word."""
    yield subject.question


@attack("arXiv 2505.22203")
def question_in_a_frame(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The question, announced or commented."""
    yield rng.choose(FRAMES, "frame").format(subject.question)


@attack("arXiv 2005.04118")
def question_shuffled(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The words of the question in another order."""
    words = subject.question.rstrip("?").split()[-MOST_WORDS:]
    yield " ".join(rng.shuffled(words, "words"))


@attack("arXiv 2505.22203")
def question_as_statement(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The question as a statement that says nothing new."""
    asked = subject.question.rstrip("? .")
    yield f"We want to know {asked[:1].lower()}{asked[1:]}. This is known and can be stated with certainty."
