"""Made-up answers in the question's own words: "who built it?" becomes "The king built it.", with the right answer or another one.

Language models answer so, and files of bare answers do not show it. A judge that has seen none of it refuses right answers in whole
sentences (docs/log.md). The same sentence with another answer in it keeps the frame from giving the label away.
"""

from __future__ import annotations

import re

from bert_judge.datasets.augmentation.rows import MONTHS, Made, Others, Row, contains, shares_words
from bert_judge.datasets.augmentation.shortened import shorter
from bert_judge.runtime.keyed_random import KeyedRandom

# Longer questions hold a story; nobody repeats that.
MOST_QUESTION_WORDS = 30
# Longer answers are sentences themselves.
MOST_ANSWER_WORDS = 7
# So often a reference that has shorter forms is stated in one of them.
SHORTER = 0.5
_BE = r"(?:is|are|was|were)"
_DO = r"(?:do|does|did|can|could|will|would|has|have|had)"
_PLACED = re.compile(r"^(?:in|on|at|near|by|from|between|before|after|since|during|around|under|over|behind)\b", re.IGNORECASE)
_DAY = re.compile(rf"(?:\d{{1,2}} (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}\b)")
_WHO_IS = re.compile(rf"^(?:who|what) (?P<be>{_BE}) (?P<what>(?:the|a|an|his|her|its|their) .+)$", re.IGNORECASE)
_WHO_DID = re.compile(rf"^who (?!{_BE}\b|{_DO}\b)(?P<did>\w+ .+)$", re.IGNORECASE)
_WHICH_DID = re.compile(rf"^(?:which|what) (?!{_BE}\b|{_DO}\b)(?P<noun>\w+) (?!{_DO}\b|of\b|for\b)(?P<did>\w+ .+)$", re.IGNORECASE)
_WHERE_IS = re.compile(
    rf"^(?P<asked>where|when) (?P<be>{_BE}) (?P<what>.+?)(?: (?P<done>located|found|born|held|founded|made|used))?$", re.IGNORECASE
)
_WHEN_DID = re.compile(r"^(?P<asked>where|when) (?P<do>do|does|did|will|can) (?P<what>.+)$", re.IGNORECASE)
_HOW_MANY = re.compile(rf"^how many (?P<what>\w+) (?:{_BE} there|{_BE}|{_DO}) (?P<rest>.+)$", re.IGNORECASE)
FRAMES = (
    "{question}? {answer}, as far as is known.",
    "To the question {question}: {answer} is what one finds.",
    "Asked {question}, most would name {answer}.",
    "{answer} is the answer to {question}.",
    "The answer to {question} is {answer}.",
)
# What may follow without touching the answer; some of it names others, who are no rivals.
BEHIND = (
    "",
    "",
    "",
    "",
    "",
    " This was widely reported at the time.",
    " It is one of the better known facts about it.",
    " It came about after a long discussion, and drew much attention.",
    " Some accounts give more detail, such as how it began and who took part.",
    " It has been so for many years.",
    " {other} took part as well.",
    " Before that, {other} was better known.",
    " {other} tells the whole story.",
    " It is often mentioned together with {other} and {third}.",
    " Later {other} followed, and then {third}.",
    " Among those who wrote about it was {other}.",
    " The same goes for {other} in {third}.",
)


def stated(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference, or a shorter form of it, in a sentence made of the question."""
    short = _short(row)
    if not short:
        return None
    answer = rng.choose(short, "reference")
    # Else the trees learn that whole references stand in sentences, and parts of one alone.
    if (forms := shorter(answer, row.question)) and rng.bernoulli(SHORTER, "shorter"):
        answer = rng.choose(forms, "form")
    return Made(row.references, _sentence(row.question, answer, rng) + _behind(short[0], others, rng), True)


def misstated(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """Another question's answer in the same sentence."""
    short = _short(row)
    borrowed = others.like(short[0], rng) if short else ()
    if not borrowed or shares_words(borrowed[0], row.references):
        return None
    text = _sentence(row.question, borrowed[0], rng) + _behind(short[0], others, rng)
    # The question may hold the reference.
    return None if contains(text, row.references) else Made(row.references, text, False)


def _short(row: Row) -> list[str]:
    words = len(row.question.split())
    if row.options or not 2 < words <= MOST_QUESTION_WORDS:
        return []
    return [text for text in row.short_references if len(text.split()) <= MOST_ANSWER_WORDS]


def _sentence(question: str, answer: str, rng: KeyedRandom) -> str:
    asked = " ".join(question.split()).rstrip(" ?.:")
    answer = answer.rstrip(" .")
    said = None if rng.bernoulli(0.2, "frame") else _statement(asked, answer)
    said = said or rng.choose(FRAMES, "which frame").format(question=asked, answer=answer)
    return said[:1].upper() + said[1:]


def _behind(reference: str, others: Others, rng: KeyedRandom) -> str:
    """What follows the answer, with other questions' answers in it where there are any."""
    second, third = (others.like(reference, KeyedRandom((*rng.key, which))) for which in ("second", "third"))
    frame = rng.choose(BEHIND, "behind")
    return frame.format(other=second[0], third=third[0]) if second and third else ""


def _statement(asked: str, answer: str) -> str | None:
    """The question as a statement; nothing where its form is not known."""
    if found := _HOW_MANY.match(asked):
        return f"{answer} {found['what']} {found['rest']}."
    if found := _WHERE_IS.match(asked):
        done = f" {found['done']}" if found["done"] else ""
        return f"{found['what']} {found['be']}{done} {_placed(answer)}."
    if found := _WHEN_DID.match(asked):
        return f"{found['what']} {_placed(answer)}."
    if found := _WHO_IS.match(asked):
        return f"{found['what']} {found['be']} {answer}."
    if found := _WHO_DID.match(asked) or _WHICH_DID.match(asked):
        return f"{answer} {found['did']}."
    return None


def _placed(answer: str) -> str:
    if _PLACED.match(answer):
        return answer
    return f"on {answer}" if _DAY.match(answer) else f"in {answer}"
