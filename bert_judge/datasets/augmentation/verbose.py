"""Answers padded with text that carries no information: around a reference they are correct, otherwise incorrect."""

from __future__ import annotations

from bert_judge.datasets.augmentation.answers import (
    PHRASES,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    contains_reference,
    overlaps_reference,
)
from bert_judge.runtime.keyed_random import KeyedRandom

# Numbers of padding sentences to draw from.
PADDING_SENTENCES = (0, 0, 1, 1, 2, 4, 12, 30)
MAX_ECHO_CHARACTERS = 400


def padded(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference in a phrase with padding, with or without a claim to be correct."""
    references = answer.short_references
    if not references or answer.options:
        return None
    text = rng.choose(PHRASES["verbose_answer_frames"], "answer").format(rng.choose(references, "reference"))
    if answer.question and rng.bernoulli(0.2, "echo"):
        text = f"{answer.question[:MAX_ECHO_CHARACTERS]} {text}"
    if rng.bernoulli(0.15, "claim"):
        text = f"{text} {rng.choose(PHRASES['claims'], 'which claim')}"
    return AugmentedRow(answer.references, _pad(text, rng), True)


def verbose(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Padding without the reference: around another answer, the question or a claim to be correct, or alone."""
    text = ""
    if rng.bernoulli(0.35, "other") and answer.short_references and not answer.options:
        borrowed = pool.similar_references(answer.short_references[0], rng)
        if not borrowed or overlaps_reference(borrowed[0], answer.references):
            return None
        text = rng.choose(PHRASES["verbose_answer_frames"], "answer").format(borrowed[0])
    elif rng.bernoulli(0.5, "echo") and not answer.options:
        text = _echo(answer.question.strip()[:MAX_ECHO_CHARACTERS], rng)
    if rng.bernoulli(0.35, "claim"):
        text = f"{text} {rng.choose(PHRASES['claims'], 'which claim')}".strip()
    text = _pad(text, rng) or rng.choose(PHRASES["openings"], "opening")
    return None if contains_reference(text, answer.references) else AugmentedRow(answer.references, text, False)


def _echo(question: str, rng: KeyedRandom) -> str:
    """Repeat the question as it is, in a frame, backwards, its second half only, or with words left out."""
    tokens = question.split()
    if rng.bernoulli(0.3, "some words"):
        return " ".join(word for position, word in enumerate(tokens) if rng.bernoulli(0.7, f"keep {position}"))
    if rng.bernoulli(0.2, "backwards"):
        return " ".join(reversed(tokens))
    if rng.bernoulli(0.3, "its end"):
        return " ".join(tokens[len(tokens) // 2 :])
    return rng.choose((*PHRASES["question_echoes"], "{}", "{}"), "frame").format(question)


def _pad(text: str, rng: KeyedRandom) -> str:
    openings, asides = PHRASES["openings"], PHRASES["asides"]
    before = [rng.choose((*openings, *asides), f"before {n}") for n in range(rng.choose(PADDING_SENTENCES, "before"))]
    after = [rng.choose(asides, f"behind {n}") for n in range(rng.choose(PADDING_SENTENCES, "behind"))]
    return " ".join(sentence for sentence in (*before, text, *after) if sentence)
