"""Made-up rows in which an answer that was judged right stands in for the reference.

Where several models answer one question, the right answers say one thing in many words, and the wrong ones repeat most of these
words. Files with short references never show a judge two whole sentences side by side; references of other files are sentences.
The label is that of the labelled answer, so nothing is invented but the reference.
"""

from __future__ import annotations

from bert_judge.datasets.augmentation.rows import Made, Others, Row, contains, shares_words
from bert_judge.runtime.keyed_random import KeyedRandom

# Of right answers so many become wrong ones: two texts that differ in the answer alone.
EXCHANGED = 0.3


def paraphrased(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A right answer against another right answer."""
    reference = _another(row, rng, others) if row.right else None
    return Made((reference,), row.candidate, True) if reference else None


def contradicted(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A wrong answer against a right one; or a right one with another question's answer in it."""
    reference = _another(row, rng, others)
    if not reference:
        return None
    if not row.right:
        return Made((reference,), row.candidate, False)
    candidate = _exchanged(row, rng, others) if rng.bernoulli(EXCHANGED, "exchanged") else None
    return Made((reference,), candidate, False) if candidate else None


def _another(row: Row, rng: KeyedRandom, others: Others) -> str | None:
    """Another answer to the same question that was judged right."""
    known = [] if row.options else [text for text in others.right_answers(row.question) if text != row.candidate]
    return rng.choose(known, "right answer") if known else None


def _exchanged(row: Row, rng: KeyedRandom, others: Others) -> str | None:
    """The answer with another one in place of the reference; None where it does not hold the reference letter for letter."""
    there = max((text for text in row.short_references if text in row.candidate), key=len, default="")
    borrowed = others.like(there, rng) if there else ()
    if not borrowed or shares_words(borrowed[0], row.references):
        return None
    changed = row.candidate.replace(there, borrowed[0])
    return None if contains(changed, row.references) else changed
