"""A quantity with the words beside it: 20 years ago, 5 mg twice daily, rose by 5%."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_judge.text.normalization import normalize_words, read_number_words
from bert_judge.text.quantities import (
    CHANGES,
    MAX_CHARACTERS,
    SPELLINGS,
    UNIT_SYMBOLS,
    Quantity,
    find_quantities,
    find_unit,
    prepare_text,
)
from bert_judge.text.reading import view
from bert_judge.text.stemming import stem_words

_MAX_CHARACTERS = 80
# A unit below the line: per day, a litre of petrol, /min; any word is one after "per": per dose.
_BELOW = re.compile(
    r"(?:(?<=[^\W_])/\s?|\b(?:(?P<per>per(?!\s(?:cent|se|mille?)\b))|an?|each|every|one)\s)([^\W\d_]+)", re.IGNORECASE
)
_ONE = re.compile(r"\A1(?!\S)\s?")
# Behind an amount: per person per year, visitors a month.
_BEHIND = re.compile(r"(?:\s[^\W\d_]+)??(?:(?:\s?/\s?|\s(?:per|an?|each|every)\s)[^\W\d_]+)+", re.IGNORECASE)
_DURATIONS = ((("s", 1),), (("month", 1),))
_TIMES = re.compile(r"\b\w+ times per\b")
_QUESTION = re.compile(r"[^.?!]*\?")
_SYMBOLS = {unit[:3]: symbol for symbol, unit in reversed(UNIT_SYMBOLS.items())}
_UNIT_ASKED = re.compile(r"\b(?:how many|number of|in|measured in)\s(?!\d|an?\s)([^\d?.,;]{1,40})", re.IGNORECASE)
# Often left out beside an amount, by their symbols.
CALENDAR = frozenset({"d", "wk", "mo", "yr"})
# Two sentences, an object of a program, or a list.
_SEVERAL = re.compile(r"[.;!?]\s+[\dA-Z]|[{}\[\]=|\n]")
# Beside a quantity, these words say nothing.
_IDLE = frozenset(
    [
        *("a", "an", "the", "it", "is", "was", "are", "were", "be", "about", "approximately", "around", "roughly", "nearly"),
        *("almost", "exactly", "of", "in", "by", "for", "at", "to", "and", "that", "this", "he", "she", "they", "we", "you"),
        *("long", "tall", "high", "wide", "deep", "old", "total", "altogether"),
    ]
)


class QuantityPhrase(NamedTuple):
    """The first quantity of a text, and the other words by their stems; `up` and `down` stand for words of change."""

    quantity: Quantity
    stems: Sequence[str]
    spellings: Mapping[str, str]

    @property
    def words(self) -> Counter[str]:
        return Counter(self.stems)


@view
def read_phrase(text: str) -> QuantityPhrase | None:
    """Return the phrase of the first quantity of a short text."""
    if len(text) > _MAX_CHARACTERS or _SEVERAL.search(text):
        return None
    text = spell(text)
    quantities = find_quantities(text)
    if not quantities:
        return None
    quantity = quantities[0]
    words = normalize_words(f"{text[: quantity.start]} {text[quantity.end :]}")
    words = read_number_words([CHANGES.get(word, word) for word in words if word not in _IDLE and word.strip(".")])
    stems = stem_words(words)
    return QuantityPhrase(quantity, stems, dict(zip(stems, words, strict=True)))


@view
def spell(text: str) -> str:
    """Write words beside a quantity in one spelling, before "a day" becomes "1 day"."""
    for pattern, replacement in SPELLINGS:
        text = pattern.sub(replacement, text)
    return prepare_text(text)


def units_below(text: str, amount: str) -> tuple[frozenset[str], bool]:
    """Return the units that a text divides an amount by, as in "$5 a month", and whether it names it for one of several times."""
    _, _, behind = spell(text[:MAX_CHARACTERS]).partition(amount)
    below = _BEHIND.match(behind)
    return _find_below(amount + (below[0] if below else "")), bool(_TIMES.search(behind))


def are_rivals(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether one amount cannot be divided by both: per day and per week, but per litre and per day."""
    are_times = [{unit.dimension in _DURATIONS for name in names if (unit := find_unit(name))} for names in (first, second)]
    return not first & second and bool(are_times[0] & are_times[1])


@view
def asked_units(question: str) -> frozenset[str]:
    """Return the symbols of the units by which the amount that is asked for is divided, as in "how much a month"; what the question
    tells besides, as in "he earns $160 a day", does not count."""
    text = spell(" ".join(_QUESTION.findall(question[:MAX_CHARACTERS])) or question[:MAX_CHARACTERS])
    for quantity in reversed(find_quantities(text)):
        before, behind = text[: quantity.start].rstrip(), text[quantity.end :].lstrip()
        if quantity.value == 1 and (quantity.unit or quantity.currencies):
            # In 1 kg.
            before = f"{before} {_ONE.sub('per ', quantity.text)}"
        elif before.endswith("per"):
            # Per 100 g, which is no unit by itself.
            before = f"{before} amount"
        elif below := _BELOW.match(behind):
            behind = behind[below.end() :]
        text = f"{before} {behind}"
    return _find_below(text)


@view
def asked_quantity(question: str) -> Quantity | None:
    """Return one of the unit that a question asks for, as in "how many grams" and "in km/h"; None for none, or several units."""
    asked = [find_quantities(f"1 {text}") for text in _UNIT_ASKED.findall(question[:MAX_CHARACTERS])]
    units = {(one[0].kind, one[0].unit, one[0].currencies): one[0] for one in asked if one and one[0].kind in ("unit", "currency")}
    return next(iter(units.values())) if len(units) == 1 else None


def _find_below(text: str) -> frozenset[str]:
    return frozenset(_unit_name(word) for per, word in _BELOW.findall(text) if per or find_unit(word))


def _unit_name(word: str) -> str:
    """Return the symbol of a unit, equal for all its names, or the word if it is none."""
    unit = find_unit("lb" if word.lower() in ("pound", "pounds") else word)
    return _SYMBOLS[unit[:3]] if unit else word


def lacks_words(reference: str, answer: str) -> bool:
    """Return whether words beside the quantity of the reference are missing in the answer, so that equal numbers decide nothing.

    What is counted may be missing: "3" for "3 balls".
    """
    expected, actual = read_phrase(reference), read_phrase(answer)
    if expected is None or actual is None or not (missing := expected.words - actual.words):
        return False
    return bool(expected.quantity.kind) or (len(missing) < len(expected.words) and bool(actual.words - expected.words))
