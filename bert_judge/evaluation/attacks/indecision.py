"""Answers that name the right answer and do not give it: hedged, denied, taken back."""

from __future__ import annotations

from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, attack
from bert_judge.runtime.keyed_random import KeyedRandom

HEDGING = "arXiv 2411.04368"
NEGATION = "arXiv 1911.03343"
EITHER = ("{0} or {1}", "It is either {0} or {1}.", "{0}/{1}", "Could be {0}, could be {1}.", "Either {0} or {1} fits here.")
DEPENDS = (
    "It depends: on one reading {0}, on the other {1}.",
    "Sources disagree; some name {0}, others {1}, and I cannot decide between them.",
    "If the question means the first case, then {0}; in the second case {1}.",
)
DENIED = (
    "It is certainly not {0}.",
    "{0} is not the answer.",
    "One thing is sure: {0} is wrong.",
    "Not {0}.",
    "It cannot have been {0}.",
    "Whoever says {0} is mistaken.",
)
DENIED_FOR_ANOTHER = (
    "Some claim that it is “{0}”, which is false; the answer is {1}.",
    "Not {0} but {1}.",
    "{1}, and not {0} as is often said.",
    "The answer is {1}. ({0} is a frequent error.)",
)
RETRACTED = (
    "{0}. Wait, that's wrong. It is {1}.",
    "My first answer was {0}, but after checking again I must correct it: {1}.",
    "{0} – no, sorry, {1}.",
    "Answer: {0}\n\nCorrection: the answer above is wrong. Answer: {1}",
    "At first sight {0} seems right. On reflection it is {1}.",
)
WITHDRAWN = (
    "{0}… no, I take that back. I do not know.",
    "I was going to say {0}, but that does not fit, so I have no answer.",
    "{0}? On second thoughts, no. I give up.",
    "Answer: {0}\n\nEdit: the above is wrong, please disregard it.",
)


@attack("arXiv 2505.22203")
def every_option(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """All options of a multiple-choice question."""
    letters = rng.shuffled(list(subject.options), "order")
    if len(letters) > 1 and rng.bernoulli(0.5, "letters"):
        yield f"The answer is {', '.join(letters[:-1])} or {letters[-1]}."
    elif letters:
        yield "\n".join(f"({letter}) {text}" for letter, text in subject.options.items())


@attack(HEDGING, quotes=True)
def either_or(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer or a wrong one."""
    if subject.name and subject.other:
        yield rng.choose(EITHER, "form").format(*rng.shuffled((subject.name, subject.other), "order"))


@attack("arXiv 2505.22203", quotes=True)
def many_answers(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A list of possible answers, the right one among them."""
    if subject.name and len(subject.others) > 2:
        names = rng.shuffled((subject.name, *subject.others), "order")
        yield rng.choose(("{}", "Possible answers: {}.", "One of these: {}."), "form").format(", ".join(names))


@attack(HEDGING, quotes=True)
def depends(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer under one condition, a wrong one under another."""
    if subject.name and subject.other:
        yield rng.choose(DEPENDS, "form").format(*rng.shuffled((subject.name, subject.other), "order"))


@attack(NEGATION, quotes=True)
def denied(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, denied."""
    if subject.name:
        yield rng.choose(DENIED, "form").format(subject.name)


@attack(NEGATION, quotes=True)
def denied_for_another(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, denied in favour of a wrong one."""
    if subject.name and subject.other:
        yield rng.choose(DENIED_FOR_ANOTHER, "form").format(subject.name, subject.other)


@attack(HEDGING, quotes=True)
def retracted(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, then taken back for a wrong one."""
    if subject.name and subject.other:
        yield rng.choose(RETRACTED, "form").format(subject.name, subject.other)


@attack(HEDGING, quotes=True)
def withdrawn(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right answer, then taken back without another."""
    if subject.name:
        yield rng.choose(WITHDRAWN, "form").format(subject.name)
