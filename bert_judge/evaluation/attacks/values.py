"""Right answers whose numbers, dates and units are written in another way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bert_judge.datasets.augmentation.answers import MONTHS
from bert_judge.evaluation.attacks.families import Subject, benign_perturbation
from bert_judge.runtime.keyed_random import KeyedRandom

FORMATS = "arXiv 2504.10481"
VARIANTS = "arXiv 2508.03686"
_MONTH = "|".join(MONTHS)
_DATE = re.compile(rf"(?:(?P<d1>\d{{1,2}}) (?P<m1>{_MONTH})|(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})),? (?P<y>\d{{4}})")
_LARGE = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,:/-])\d{5,9}(?![\d.,:/-])")
_PLAIN = re.compile(r"-?\d+")
_ROMAN: Mapping[str, str] = {"II": "2", "III": "3", "IV": "4", "VI": "6", "VII": "7", "VIII": "8", "IX": "9"}
_ROMAN_WORD = re.compile(rf"(?<=[a-z] )({'|'.join(sorted(_ROMAN, key=len, reverse=True))})\b")
# Each way round: what is written short is written out, and the other way.
_UNITS: Mapping[str, str] = {
    **{"km": "kilometres", "kilometers": "km", "kilometres": "km", "kg": "kilograms", "kilograms": "kg", "cm": "centimetres"},
    **{"mm": "millimetres", "ft": "feet", "lbs": "pounds", "mph": "miles per hour", "hrs": "hours", "mins": "minutes"},
    **{"percent": "%", "minutes": "min", "seconds": "s", "metres": "m", "meters": "m", "square miles": "sq mi"},
}
_UNIT = re.compile(rf"(?<=\d )({'|'.join(sorted(_UNITS, key=len, reverse=True))})\b")
_PERCENT = re.compile(r"(?<=\d)\s?%")
_DOLLARS = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)(?!\d| (?:million|billion|thousand))")


@benign_perturbation(FORMATS)
def number_grouped_otherwise(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Thousands separated in another way, or not."""
    if subject.name and not subject.options and (found := _LARGE.search(subject.name)):
        digits = found[0].replace(",", "")
        forms = [form for form in (digits, f"{int(digits):,}", f"{int(digits):,}".replace(",", " ")) if form != found[0]]
        yield subject.name[: found.start()] + rng.choose(forms, "form") + subject.name[found.end() :]


@benign_perturbation(VARIANTS)
def number_with_idle_zeros(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A whole number with a decimal point and zeros."""
    if subject.answer and not subject.options and _PLAIN.fullmatch(subject.answer) and len(subject.answer) < 4:
        yield rng.choose(("{}.0", "{}.00"), "form").format(subject.answer)


@benign_perturbation(FORMATS)
def date_written_otherwise(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A date in another order or with ordinals."""
    if subject.name and (found := _DATE.search(subject.name)):
        day, month = int(found["d1"] or found["d2"]), found["m1"] or found["m2"]
        ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        number = MONTHS.index(month) + 1
        forms = (
            f"{month} {day}{ending}, {found['y']}",
            f"the {day}{ending} of {month} {found['y']}",
            f"{found['y']}-{number:02d}-{day:02d}",
            f"{day}. {month[:3]} {found['y']}",
        )
        yield subject.name[: found.start()] + rng.choose(forms, "form") + subject.name[found.end() :]


@benign_perturbation(FORMATS)
def unit_written_otherwise(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A unit, a per cent or dollar sign written out, or the other way."""
    name = subject.name
    if name is None or subject.options:
        return
    if unit := _UNIT.search(name):
        yield name[: unit.start()] + _UNITS[unit[0]] + name[unit.end() :]
    elif _PERCENT.search(name):
        yield _PERCENT.sub(" percent", name)
    elif _DOLLARS.search(name):
        yield _DOLLARS.sub(r"\1 dollars", name)


@benign_perturbation(FORMATS)
def roman_numeral(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A Roman numeral as a number."""
    if subject.name and (found := _ROMAN_WORD.search(subject.name)):
        yield subject.name[: found.start()] + _ROMAN[found[1]] + subject.name[found.end() :]


@benign_perturbation(FORMATS)
def sign_for_a_word(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """“&” for “and”, “U.S.” for “United States”, or the other way."""
    name = subject.name
    if name is None or subject.options:
        return
    pairs = ((" and ", " & "), (" & ", " and "), ("United States", "U.S."), ("U.S.", "United States"), ("United Kingdom", "UK"))
    for word, sign in pairs:
        if word in name:
            yield name.replace(word, sign, 1)
            return
