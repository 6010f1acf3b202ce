"""Answers that name a correct and an incorrect answer: the one that is settled on counts.

The same phrases are used with both orders: "X. Hmm, that can't be. Y." is incorrect if X is the reference, and correct if Y is.
"""

from __future__ import annotations

from bert_judge.datasets.augmentation.answers import (
    PHRASES,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    overlaps_reference,
    vary_phrasing,
)
from bert_judge.runtime.keyed_random import KeyedRandom

# Not in phrases such as "Perhaps yes, perhaps Rome".
BINARY_ANSWERS = frozenset({"yes", "no", "true", "false"})


def retracted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, retracted in favour of another answer or of none."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    reference, distractor = pair
    if rng.bernoulli(0.35, "nothing instead"):
        text = rng.choose(PHRASES["retractions"], "form").format(reference)
    else:
        text = rng.choose(PHRASES["corrections"], "form").format(reference, distractor)
    return AugmentedRow(answer.references, text, False)


def undecided(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference among other answers without a decision, or with a decision for another answer."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    if rng.bernoulli(0.25, "broken off"):
        text = rng.choose(PHRASES["unfinished"], "stop").format(*rng.shuffled(pair, "order"))
    elif rng.bernoulli(0.35, "side by side"):
        text = rng.choose(PHRASES["alternatives"], "sides").format(*rng.shuffled(pair, "order"))
    else:
        text = _list_answers(*pair, answer, rng, pool)
        if rng.bernoulli(0.25, "other decided"):
            text = f"{text} {rng.choose(PHRASES['decisions'], 'decision').format(pair[1])}"
    return AugmentedRow(answer.references, text, False)


def self_corrected(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Another answer, retracted in favour of a reference; or several answers and a decision for the reference."""
    if not (pair := _draw_pair(answer, rng, pool)):
        return None
    reference, distractor = pair
    if rng.bernoulli(0.3, "several"):
        decision = rng.choose(PHRASES["decisions"], "decision").format(reference)
        text = f"{_list_answers(reference, distractor, answer, rng, pool)} {decision}"
    elif rng.bernoulli(0.2, "denied first"):
        text = f"{rng.choose(PHRASES['retractions'], 'denial').format(distractor)} {vary_phrasing(reference, rng)}"
    else:
        text = rng.choose(PHRASES["corrections"], "form").format(distractor, reference)
    return AugmentedRow(answer.references, text, True)


def _draw_pair(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> tuple[str, str] | None:
    references = [text for text in answer.short_references if text.strip(" .").casefold() not in BINARY_ANSWERS]
    if answer.options or not references:
        return None
    reference = rng.choose(references, "reference")
    borrowed = pool.similar_references(reference, rng)
    if not borrowed or overlaps_reference(borrowed[0], answer.references):
        return None
    return reference, borrowed[0]


def _list_answers(reference: str, distractor: str, answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str:
    more = [
        borrowed[0]
        for n in range(rng.integers(0, 4, "more"))
        if (borrowed := pool.similar_references(reference, KeyedRandom((*rng.key, n))))
    ]
    distinct = dict.fromkeys([reference, distractor, *(text for text in more if not overlaps_reference(text, answer.references))])
    text = rng.choose(PHRASES["list_separators"], "between").join(rng.shuffled(list(distinct), "order"))
    return rng.choose(PHRASES["undecided_frames"], "frame").format(text)
