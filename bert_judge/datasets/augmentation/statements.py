"""Answers in the words of the question: "who built it?" becomes "The king built it.", with a correct or an incorrect answer.

Language models answer like this, but files of bare answers do not contain such sentences, and a judge trained on these files alone
rejects correct answers in whole sentences (docs/log.md). With incorrect answers too, the sentence does not reveal the label.
"""

from __future__ import annotations

import re

from bert_judge.datasets.augmentation.answers import (
    MONTHS,
    PHRASES,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    contains_reference,
    overlaps_reference,
)
from bert_judge.datasets.augmentation.correct import shorten
from bert_judge.runtime.keyed_random import KeyedRandom

# Longer questions contain a story, which no answer repeats.
MAX_QUESTION_WORDS = 30
# Longer answers are sentences themselves.
MAX_ANSWER_WORDS = 7
# Probability of a shorter form of the reference. With whole references only, the trees would learn that sentences contain these.
SHORTEN_RATE = 0.5
_BE = r"(?:is|are|was|were)"
_DO = r"(?:do|does|did|can|could|will|would|has|have|had)"
_PREPOSITION = re.compile(r"^(?:in|on|at|near|by|from|between|before|after|since|during|around|under|over|behind)\b", re.IGNORECASE)
_DAY = re.compile(rf"(?:\d{{1,2}} (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}\b)")
_WHO_IS = re.compile(rf"^(?:who|what) (?P<be>{_BE}) (?P<subject>(?:the|a|an|his|her|its|their) .+)$", re.IGNORECASE)
_WHO_DID = re.compile(rf"^who (?!{_BE}\b|{_DO}\b)(?P<predicate>\w+ .+)$", re.IGNORECASE)
_WHICH_DID = re.compile(rf"^(?:which|what) (?!{_BE}\b|{_DO}\b)\w+ (?!{_DO}\b|of\b|for\b)(?P<predicate>\w+ .+)$", re.IGNORECASE)
_WHERE_IS = re.compile(
    rf"^(?:where|when) (?P<be>{_BE}) (?P<subject>.+?)(?: (?P<verb>located|found|born|held|founded|made|used))?$",
    re.IGNORECASE,
)
_WHEN_DID = re.compile(r"^(?:where|when) (?:do|does|did|will|can) (?P<clause>.+)$", re.IGNORECASE)
_HOW_MANY = re.compile(rf"^how many (?P<noun>\w+) (?:{_BE} there|{_BE}|{_DO}) (?P<rest>.+)$", re.IGNORECASE)


def stated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, or a shorter form of it, in a sentence made from the question."""
    references = _usable_references(answer)
    if not references:
        return None
    text = rng.choose(references, "reference")
    if (forms := shorten(text, answer.question)) and rng.bernoulli(SHORTEN_RATE, "shorter"):
        text = rng.choose(forms, "form")
    sentence = _make_sentence(answer.question, text, rng) + _continuation(references[0], rng, pool)
    return AugmentedRow(answer.references, sentence, True)


def misstated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """Another question's answer in the same sentence."""
    references = _usable_references(answer)
    borrowed = pool.similar_references(references[0], rng) if references else ()
    if not borrowed or overlaps_reference(borrowed[0], answer.references):
        return None
    sentence = _make_sentence(answer.question, borrowed[0], rng) + _continuation(references[0], rng, pool)
    # The question may contain the reference.
    return None if contains_reference(sentence, answer.references) else AugmentedRow(answer.references, sentence, False)


def _usable_references(answer: LabelledAnswer) -> list[str]:
    if answer.options or not 2 < len(answer.question.split()) <= MAX_QUESTION_WORDS:
        return []
    return [text for text in answer.short_references if len(text.split()) <= MAX_ANSWER_WORDS]


def _make_sentence(question: str, answer: str, rng: KeyedRandom) -> str:
    question = " ".join(question.split()).rstrip(" ?.:")
    answer = answer.rstrip(" .")
    sentence = None if rng.bernoulli(0.2, "frame") else _to_statement(question, answer)
    sentence = sentence or rng.choose(PHRASES["question_frames"], "which frame").format(question=question, answer=answer)
    return sentence[:1].upper() + sentence[1:]


def _continuation(reference: str, rng: KeyedRandom, pool: AnswerPool) -> str:
    """Draw a text to append, with answers of other questions in it; empty if there are none."""
    second, third = (pool.similar_references(reference, KeyedRandom((*rng.key, name))) for name in ("second", "third"))
    frame = rng.choose(PHRASES["continuations"], "behind")
    return frame.format(other=second[0], third=third[0]) if second and third else ""


def _to_statement(question: str, answer: str) -> str | None:
    if match := _HOW_MANY.match(question):
        return f"{answer} {match['noun']} {match['rest']}."
    if match := _WHERE_IS.match(question):
        verb = f" {match['verb']}" if match["verb"] else ""
        return f"{match['subject']} {match['be']}{verb} {_add_preposition(answer)}."
    if match := _WHEN_DID.match(question):
        return f"{match['clause']} {_add_preposition(answer)}."
    if match := _WHO_IS.match(question):
        return f"{match['subject']} {match['be']} {answer}."
    if match := _WHO_DID.match(question) or _WHICH_DID.match(question):
        return f"{answer} {match['predicate']}."
    return None


def _add_preposition(answer: str) -> str:
    if _PREPOSITION.match(answer):
        return answer
    return f"on {answer}" if _DAY.match(answer) else f"in {answer}"
