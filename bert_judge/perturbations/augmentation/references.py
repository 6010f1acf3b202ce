"""Rows with another reference: a correct answer to the same question, or the references of another question.

Files with short references never pair two whole sentences. Where several models answer a question, the correct answers express one
fact in many ways, and the incorrect ones repeat most of these words.
"""

from bert_judge.perturbations.augmentation.answers import (
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    contains_reference,
    overlaps_reference,
)
from bert_judge.runtime.keyed_random import KeyedRandom

# Share of the correct answers that become incorrect ones: two texts that differ only in the answer.
EXCHANGE_RATE = 0.3


def swapped_reference(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A correct answer with the references of another question."""
    if answer.options or not answer.correct or not answer.short_references:
        return None
    borrowed = pool.similar_references(answer.short_references[0], rng)
    if not borrowed or overlaps_reference(answer.candidate, borrowed):
        return None
    return AugmentedRow(borrowed, answer.candidate, False)


def paraphrased(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A correct answer with another correct answer as reference."""
    reference = _other_correct_answer(answer, rng, pool) if answer.correct else None
    return AugmentedRow((reference,), answer.candidate, True) if reference else None


def contradicted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """An incorrect answer with a correct answer as reference, or a correct one in which the answer is exchanged."""
    reference = _other_correct_answer(answer, rng, pool)
    if not reference:
        return None
    if not answer.correct:
        return AugmentedRow((reference,), answer.candidate, False)
    candidate = _exchange_answer(answer, rng, pool) if rng.bernoulli(EXCHANGE_RATE, "exchanged") else None
    return AugmentedRow((reference,), candidate, False) if candidate else None


def _other_correct_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    answers = [] if answer.options else [text for text in pool.correct_answers(answer.question) if text != answer.candidate]
    return rng.choose(answers, "right answer") if answers else None


def _exchange_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Replace the reference inside the answer by another question's; None if it is not there verbatim."""
    reference = max((text for text in answer.short_references if text in answer.candidate), key=len, default="")
    if not reference or not (other := pool.draw_incorrect(reference, answer.references, rng)):
        return None
    candidate = answer.candidate.replace(reference, other)
    return None if contains_reference(candidate, answer.references) else candidate
