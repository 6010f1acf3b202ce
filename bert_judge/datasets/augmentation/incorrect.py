"""Made-up answers that are wrong: another answer, nearly the right one, or the right one denied."""

from __future__ import annotations

import re

from bert_judge.datasets.augmentation.rows import MONTHS, Made, Others, Row, contains, said, shares_words
from bert_judge.runtime.keyed_random import KeyedRandom

_DIGITS = re.compile(r"\d+")
_DENIALS = (
    "It is not {}.",
    "It was not {}.",
    "Anything but {}.",
    "Many people believe that it is {}, but that is wrong.",
    "I used to think that it was {}, but it is not.",
    "{}? No, that is a common mistake.",
    "No, {} is incorrect.",
    "{} can be ruled out.",
    "It never was {}.",
)
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b")
_VALUE = re.compile(r"(?P<sign>[-−]?)(?P<before>[$€£]?)(?P<number>\d[\d,]*(?:\.\d+)?)(?P<behind>%?)")
# Another scale is another amount.
_SCALES = {"million": "billion", "billion": "million", "thousand": "million", "hundred": "thousand"}
_SCALE = re.compile(rf"(?<=\d )({'|'.join(_SCALES)})\b")
# In a longer phrase one word may matter little.
MOST_WORDS_OF_A_NAME = 4
YEARS_BESIDE = (-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 20)


def other_answer(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """Another question's answer of the same shape; for multiple choice, another option."""
    if row.options:
        wrong = [
            (letter, text) for letter, text in row.options.items() if letter not in row.references and text not in row.references
        ]
        if not wrong or len(wrong) == len(row.options):
            return None
        letter, text = rng.choose(wrong, "option")
        return Made(row.references, said(rng.choose((letter, text, f"({letter}) {text}"), "form"), rng), False)
    if not row.short_references:
        return None
    borrowed = others.like(row.short_references[0], rng)
    answer = rng.choose(borrowed, "answer") if borrowed else ""
    if not answer or shares_words(answer, row.references):
        return None
    return Made(row.references, said(answer, rng), False)


def near_miss(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference with one digit, year or name changed: alone, or in its place in a right answer."""
    if row.options or not row.short_references:
        return None
    reference = rng.choose(row.short_references, "reference")
    changed = _other_value(reference, rng) if rng.bernoulli(0.35, "value") else None
    changed = changed or (_other_number(reference, rng) if _DIGITS.search(reference) else _other_word(reference, rng, others))
    if not changed or contains(changed, row.references):
        return None
    in_place = row.candidate.replace(reference, changed)
    if row.right and reference in row.candidate and not contains(in_place, row.references) and rng.bernoulli(0.5, "in place"):
        return Made(row.references, in_place, False)
    return Made(row.references, said(changed, rng), False)


def swapped_reference(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A right answer against another question's references."""
    if row.options or not row.right or not row.short_references:
        return None
    borrowed = others.like(row.short_references[0], rng)
    if not borrowed or shares_words(row.candidate, borrowed):
        return None
    return Made(borrowed, row.candidate, False)


def denied(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference, denied."""
    if row.options or not row.short_references:
        return None
    reference = rng.choose(row.short_references, "reference")
    return Made(row.references, rng.choose(_DENIALS, "denial").format(reference), False)


def _other_value(reference: str, rng: KeyedRandom) -> str | None:
    """Another month, another scale, or a bare number with the other sign or ten times as large; None where none of these fits."""
    if month := _MONTH.search(reference):
        other = rng.choose([name for name in MONTHS if name != month[1]], "month")
        return reference[: month.start()] + other + reference[month.end() :]
    if scale := _SCALE.search(reference):
        return reference[: scale.start()] + _SCALES[scale[1]] + reference[scale.end() :]
    if not (value := _VALUE.fullmatch(reference.strip())) or not value["number"].strip("0.,"):
        return None
    sign, number = value["sign"], value["number"]
    if rng.bernoulli(0.5, "sign"):
        sign = "" if sign else "-"
    else:
        number = f"{number}0" if "." not in number else number.replace(".", "")
    return f"{sign}{value['before']}{number}{value['behind']}"


def _other_number(reference: str, rng: KeyedRandom) -> str:
    """One number of the reference changed: a year by some years, another number in one digit."""
    number = rng.choose(list(_DIGITS.finditer(reference)), "number")
    digits = number[0]
    if len(digits) == 4 and rng.bernoulli(0.8, "year"):
        changed = str(int(digits) + rng.choose(YEARS_BESIDE, "years"))
    else:
        place = rng.integers(0, len(digits) - 1, "place")
        digit = rng.choose([d for d in "123456789" if d != digits[place]], "digit")
        changed = digits[:place] + digit + digits[place + 1 :]
    return reference[: number.start()] + changed + reference[number.end() :]


def _other_word(reference: str, rng: KeyedRandom, others: Others) -> str | None:
    """One word of a phrase exchanged for a word of another answer, capitalised alike."""
    own = reference.split()
    places = [i for i, word in enumerate(own) if len(word) > 2 and word.isalpha()]
    if not 2 <= len(own) <= MOST_WORDS_OF_A_NAME or not places:
        return None
    place = rng.choose(places, "place")
    capital = own[place][0].isupper()
    known = {word.casefold() for word in own}
    borrowed = [word for text in others.like(reference, rng) for word in text.split()]
    fit = [w for w in borrowed if len(w) > 2 and w.isalpha() and w[0].isupper() == capital and w.casefold() not in known]
    return " ".join([*own[:place], rng.choose(fit, "word"), *own[place + 1 :]]) if fit else None
