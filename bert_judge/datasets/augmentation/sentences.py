"""Whole sentences against references that are sentences: repeated, negated, altered, cut, or of another question."""

from __future__ import annotations

import re

from bert_judge.datasets.augmentation.answers import PHRASES, AnswerPool, AugmentedRow, LabelledAnswer
from bert_judge.judges.lexical.normalization import normalize_words
from bert_judge.runtime.keyed_random import KeyedRandom

_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|has|have|had|does|do|did|may|might)\b(?! not|n't)")
_NEGATION = re.compile(r"\b(?:(\w+) not\b|(is|are|was|were|could|would|should|has|have|had|does|do|did)n['’]t\b)")
_CLAUSE_BREAK = re.compile(r"[.;]\s+|,?\s+(?=(?:because|but|which|while|whereas|so that|when|if)\b)|,\s+(?=and\b)")
_NUMBER = re.compile(r"\b\d+\b")
_WORD = re.compile(r"[^\W\d_]{4,}")
_OPPOSITES = dict(pair.split("/") for pair in PHRASES["opposites"])
_OPPOSITES |= {second: first for first, second in _OPPOSITES.items()}
_OPPOSITE = re.compile(rf"\b({'|'.join(sorted(_OPPOSITES, key=len, reverse=True))})\b")
# Words that a correct answer may leave out or put first.
_OPENINGS = ("", "", "I think ", "It is that ", "Because ", "Yes, ")


def repeated_sentence(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference with small changes that leave its meaning."""
    text = _sentence(answer, rng)
    if not text:
        return None
    if rng.bernoulli(0.3, "articles"):
        text = re.sub(r"\b(?:the|an?) ", "", text, flags=re.IGNORECASE)
    if rng.bernoulli(0.3, "lower"):
        text = text.lower().rstrip(".")
    return AugmentedRow(answer.references, rng.choose(_OPENINGS, "opening") + text, True)


def negated_sentence(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, or a correct answer, with a negation added or removed."""
    text = _statement(answer, rng)
    if not text:
        return None
    if negation := _NEGATION.search(text):
        changed = text[: negation.start()] + (negation[1] or negation[2]) + text[negation.end() :]
    elif auxiliary := _AUXILIARY.search(text):
        changed = f"{text[: auxiliary.end()]} not{text[auxiliary.end() :]}"
    else:
        return None
    return AugmentedRow(answer.references, changed, False)


def altered_sentence(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, or a correct answer, with an opposite, another number, or two words exchanged."""
    text = _statement(answer, rng)
    if not text:
        return None
    if opposites := list(_OPPOSITE.finditer(text)):
        word = rng.choose(opposites, "opposite")
        changed = text[: word.start()] + _OPPOSITES[word[1]] + text[word.end() :]
    elif numbers := list(_NUMBER.finditer(text)):
        number = rng.choose(numbers, "number")
        changed = (
            text[: number.start()] + str(int(number[0]) + rng.choose((-2, -1, 1, 2, 5, 10), "difference")) + text[number.end() :]
        )
    else:
        words = list(_WORD.finditer(text))
        if len(words) < 4:
            return None
        first, second = sorted(rng.shuffled(words, "words")[:2], key=lambda match: match.start())
        between = text[first.end() : second.start()]
        # "Salt and water" is the same either way round.
        if first[0].casefold() == second[0].casefold() or re.fullmatch(r"\W*(?:and|or|,)?\W*", between):
            return None
        changed = text[: first.start()] + second[0] + between + first[0] + text[second.end() :]
    return AugmentedRow(answer.references, changed, False)


def partial_sentence(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """One of the clauses of a reference."""
    text = _sentence(answer, rng)
    clauses = [clause.strip() for clause in _CLAUSE_BREAK.split(text or "") if len(clause.split()) >= 3]
    if len(clauses) < 2:
        return None
    return AugmentedRow(answer.references, rng.choose((clauses[0], clauses[-1]), "clause"), False)


def misplaced_sentence(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """The sentence that answers another, similar question."""
    if not _sentence(answer, rng) or not pool.sentences:
        return None
    drawn = [rng.choose(pool.sentences, f"other {i}") for i in range(40)]
    own = set(normalize_words(" ".join((answer.question, *answer.references))))
    others = [text for text in drawn if text not in answer.references and _overlap(text, own) < 0.8]
    return AugmentedRow(answer.references, max(others, key=lambda text: _overlap(text, own)), False) if others else None


def _overlap(text: str, words: set[str]) -> float:
    tokens = normalize_words(text)
    return sum(token in words for token in tokens) / max(1, len(tokens))


def _sentence(answer: LabelledAnswer, rng: KeyedRandom) -> str | None:
    """Draw one of the references that are sentences; None if there is none."""
    return rng.choose(answer.sentences, "sentence") if answer.sentences and not answer.options else None


def _statement(answer: LabelledAnswer, rng: KeyedRandom) -> str | None:
    """Draw a reference that is a sentence, or the answer if it is correct and a sentence."""
    text = _sentence(answer, rng)
    is_sentence = answer.correct and 4 <= len(answer.candidate.split()) <= 40
    return answer.candidate if text and is_sentence and rng.bernoulli(0.5, "answer") else text
