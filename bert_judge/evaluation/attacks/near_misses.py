"""Wrong answers that look like the right one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bert_judge.datasets.augmentation.answers import MONTHS
from bert_judge.evaluation.attacks.families import Subject, attack
from bert_judge.runtime.keyed_random import KeyedRandom

CONTRAST = "arXiv 2004.02709"
NUMERACY = "arXiv 1909.07940"
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# "May" is a word, too.
_MONTHS = [month for month in MONTHS if month != "May"]
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})\b")
# Words that are left alone when a name gets another word.
_SMALL = frozenset(["of", "the", "and", "in", "on", "at", "to", "for", "by", "with", "from", "de", "la", "le", "van", "von"])
# What stands in place of a unit: another one that measures the same, or a larger scale.
UNITS: Mapping[str, str] = {
    **{"km": "miles", "kilometers": "miles", "kilometres": "miles", "miles": "kilometres", "mile": "kilometre"},
    **{"metres": "feet", "meters": "feet", "feet": "metres", "cm": "inches", "inches": "centimetres"},
    **{"kg": "pounds", "pounds": "kilograms", "lb": "kg", "tons": "kilograms", "grams": "ounces"},
    **{"seconds": "minutes", "minutes": "hours", "hours": "minutes", "days": "weeks", "weeks": "months", "months": "years"},
    **{"years": "months", "million": "billion", "billion": "million", "thousand": "million", "hundred": "thousand"},
    **{
        "percent": "per mille",
        "%": "‰",
        "$": "€",
        "dollars": "cents",
        "°C": "°F",
        "°F": "°C",
        "litres": "gallons",
        "gallons": "litres",
    },
}
_UNIT = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})(?![A-Za-z])")
_WORDY_NUMBER = re.compile(r"[-−]?\$?\d[\d,.]*%?")


@attack("arXiv 2507.23453")
def other_question(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer to another question, or another option."""
    if subject.other:
        yield subject.other


@attack("arXiv 2507.23453")
def other_question_said(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer to another question, in a sentence that is sure of it."""
    if subject.other:
        yield f"This is easy: it is {subject.other}, without any doubt."


@attack(NUMERACY)
def near_number(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right number, off by one in one of its digits."""
    name = subject.name
    if name is None or subject.options or not (numbers := list(_NUMBER.finditer(name))):
        return
    number = rng.choose(numbers, "number")
    digits = [place for place, character in enumerate(number[0]) if character.isdigit()]
    place = rng.choose(digits, "digit")
    digit = (int(number[0][place]) + rng.choose((1, 9), "up or down")) % 10
    changed = number[0][:place] + str(digit) + number[0][place + 1 :]
    if changed.lstrip("0") != number[0].lstrip("0"):
        yield name[: number.start()] + changed + name[number.end() :]


@attack(NUMERACY)
def wrong_magnitude(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right number, ten times too large or too small."""
    if subject.answer and not subject.options and _WORDY_NUMBER.fullmatch(subject.answer):
        number = _NUMBER.search(subject.answer)
        value = float(number[0].replace(",", "")) if number else 0.0
        if value:
            changed = value * rng.choose((10, 100, 0.1), "factor")
            yield subject.answer.replace(number[0] if number else "", f"{changed:,.10g}")


@attack(NUMERACY)
def wrong_sign(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right number with the other sign."""
    if subject.answer and not subject.options and _WORDY_NUMBER.fullmatch(subject.answer) and re.search("[1-9]", subject.answer):
        turned = subject.answer[1:] if subject.answer[0] in "-−" else f"-{subject.answer}"
        yield rng.choose(("{}", "The result is {}."), "form").format(turned)


@attack("arXiv 2504.10481")
def wrong_unit(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right number in another unit or on another scale."""
    name = subject.name
    if name and any(character.isdigit() for character in name) and (unit := _UNIT.search(name)):
        yield name[: unit.start()] + UNITS[unit[0]] + name[unit.end() :]


@attack(CONTRAST)
def wrong_month(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right date in another month."""
    name = subject.name
    if name and (found := _MONTH.search(name)):
        month = rng.choose([month for month in _MONTHS if month != found[1]], "month")
        yield name[: found.start()] + month + name[found.end() :]


@attack(CONTRAST)
def near_name(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The right name with one word of another."""
    name = subject.name
    if name is None or subject.options or any(character.isdigit() for character in name):
        return
    words = name.split()
    foreign = [word for text in subject.others for word in text.split() if word[:1].isupper() and word.isalpha()]
    places = [place for place, word in enumerate(words) if word[:1].isupper() and word.casefold() not in _SMALL and word.isalpha()]
    if 2 <= len(words) <= 4 and places and foreign:
        words[rng.choose(places, "place")] = rng.choose(foreign, "word")
        yield " ".join(words)


@attack(CONTRAST)
def wrong_and_reasoned(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """A wrong answer, with the reason why it would be right."""
    if subject.other:
        yield f"{subject.other}. This is the only possibility that agrees with everything the question says, so I am sure."
