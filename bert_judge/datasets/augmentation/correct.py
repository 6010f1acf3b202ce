"""Made-up answers that are right: the reference said in other words or written in another form."""

from __future__ import annotations

import re
from collections.abc import Callable

from bert_judge.datasets.augmentation.rows import ASKS_FOR_A_PERSON, MONTHS, Made, Others, Row, said
from bert_judge.judges.lexical.normalization import NUMBER_WORDS
from bert_judge.runtime.keyed_random import KeyedRandom

_WORD_OF = {digits: word for word, digits in NUMBER_WORDS.items()}
# Behind a dash the day belongs to a range.
_DAY_FIRST = re.compile(rf"(?<![\w–-])(\d{{1,2}}) ({'|'.join(MONTHS)}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}),? (\d{{4}})\b")
_SMALL_NUMBER = re.compile(r"(?<![\w.,/:-])(\d{1,2})(?![\w.,/:%-])")
_NUMBER_WORD = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d.,])")
_FULL_NAME = re.compile(r"([A-Z][a-z]+) ([A-Z])[a-z]+ ([A-Z][a-z]+)")
# A word in place of a number changes what a sentence says: "one small step".
MOST_WORDS_BESIDE = 4


def restated(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference, bare or in a phrase, sometimes in lower case; for multiple choice with its letter."""
    answer = rng.choose(row.references, "reference")
    if not answer.strip():
        return None
    letter = next((letter for letter in row.options if letter in row.references), None)
    if letter and rng.bernoulli(0.5, "letter"):
        answer = f"({letter}) {row.options[letter]}"
    elif not row.options and rng.bernoulli(0.2, "lower"):
        answer = answer.lower()
    return Made(row.references, said(answer, rng), True)


def reformatted(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A date, number or name of a reference in another form that means the same."""
    if row.options:
        return None
    ways = (*_WAYS, _initial) if ASKS_FOR_A_PERSON.search(row.question) else _WAYS
    forms = [form for reference in row.short_references for way in ways if (form := way(reference)) != reference]
    return Made(row.references, said(rng.choose(forms, "form"), rng), True) if forms else None


def _month_first(text: str) -> str:
    return _DAY_FIRST.sub(r"\2 \1, \3", text)


def _day_first(text: str) -> str:
    return _MONTH_FIRST.sub(r"\2 \1 \3", text)


def _spelt(text: str) -> str:
    found = _SMALL_NUMBER.search(text)
    if not found or found[1] not in _WORD_OF or any(month in text for month in MONTHS):
        return text
    return text[: found.start()] + _WORD_OF[found[1]] + text[found.end() :]


def _in_digits(text: str) -> str:
    if len(text.split()) > MOST_WORDS_BESIDE:
        return text
    return _NUMBER_WORD.sub(lambda match: NUMBER_WORDS[match[1].lower()], text)


def _without_comma(text: str) -> str:
    return _THOUSANDS.sub(r"\1\2", text)


def _initial(text: str) -> str:
    name = _FULL_NAME.fullmatch(text)
    return f"{name[1]} {name[2]}. {name[3]}" if name else text


_WAYS: tuple[Callable[[str], str], ...] = (_month_first, _day_first, _spelt, _in_digits, _without_comma)
