"""Benign perturbations that need more than a phrase: other characters, and other formats of numbers, dates and units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from bert_judge.datasets.augmentation.answers import MONTHS
from bert_judge.evaluation.attacks.family import AttackedQuestion, Family, generator
from bert_judge.evaluation.attacks.incorrect import LONG_TEXT_SENTENCES, filler
from bert_judge.runtime.keyed_random import KeyedRandom

MIN_MISTYPED_LETTERS = 8
MONTH_NAMES = "|".join(MONTHS)
DATE = re.compile(rf"(?:(?P<d1>\d{{1,2}}) (?P<m1>{MONTH_NAMES})|(?P<m2>{MONTH_NAMES}) (?P<d2>\d{{1,2}})),? (?P<y>\d{{4}})")
LARGE_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,:/-])\d{5,9}(?![\d.,:/-])")
INTEGER = re.compile(r"-?\d+")
PERCENT = re.compile(r"(?<=\d)\s?%")
DOLLARS = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)(?!\d| (?:million|billion|thousand))")


@generator
def right_then_long(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer:
        yield f"The answer: {question.short_answer}. {filler(rng, family, LONG_TEXT_SENTENCES)}"


@generator
def long_then_right(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer:
        yield f"{filler(rng, family, LONG_TEXT_SENTENCES)} The answer: {question.short_answer}."


@generator
def right_then_a_little(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer:
        yield f"{question.short_answer}. {filler(rng, family, 2)}"


@generator
def as_it_is(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    references = [text for text in question.references if text.strip()]
    if references:
        yield rng.choose(references, "reference")


@generator
def upper_case(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and question.short_answer.upper() != question.short_answer:
        yield question.short_answer.upper()


@generator
def lower_case(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer and not question.options and answer.lower() != answer:
        yield answer.lower()


@generator
def homoglyphs(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer and not question.options:
        changed = answer.translate({ord(letter): replacement for letter, replacement in family.replacements.items()})
        if changed != answer:
            yield changed


@generator
def invisible_characters(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and len(question.short_answer) > 1:
        yield family.choose(rng, "character").join(question.short_answer)


@generator
def full_width(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and question.short_answer.isascii():
        yield "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in question.short_answer)


@generator
def without_accents(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer:
        decomposed = unicodedata.normalize("NFD", question.short_answer)
        plain = "".join(character for character in decomposed if not unicodedata.combining(character))
        if plain != question.short_answer and plain.isascii():
            yield plain


@generator
def typing_error(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer is None or question.options:
        return
    words = question.short_answer.split()
    long_words = [
        index for index, word in enumerate(words) if len(word) >= MIN_MISTYPED_LETTERS and word.isascii() and word.isalpha()
    ]
    if long_words:
        index = rng.choose(long_words, "word")
        word = words[index]
        letter = rng.integers(2, len(word) - 4, "letter")
        words[index] = word[:letter] + word[letter + 1] + word[letter] + word[letter + 2 :]
        if words[index] != word:
            yield " ".join(words)


@generator
def number_grouped_otherwise(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer and not question.options and (number := LARGE_NUMBER.search(answer)):
        digits = number[0].replace(",", "")
        forms = [form for form in (digits, f"{int(digits):,}", f"{int(digits):,}".replace(",", " ")) if form != number[0]]
        yield answer[: number.start()] + rng.choose(forms, "form") + answer[number.end() :]


@generator
def number_with_idle_zeros(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.answer and not question.options and INTEGER.fullmatch(question.answer) and len(question.answer) < 4:
        yield family.choose(rng, "form").replace("{number}", question.answer)


@generator
def date_written_otherwise(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer and (date := DATE.search(answer)):
        day, month, year = int(date["d1"] or date["d2"]), date["m1"] or date["m2"], date["y"]
        suffix = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        forms = (
            f"{month} {day}{suffix}, {year}",
            f"the {day}{suffix} of {month} {year}",
            f"{year}-{MONTHS.index(month) + 1:02d}-{day:02d}",
            f"{day}. {month[:3]} {year}",
        )
        yield answer[: date.start()] + rng.choose(forms, "form") + answer[date.end() :]


@generator
def unit_written_otherwise(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer is None or question.options:
        return
    units = "|".join(sorted(family.replacements, key=len, reverse=True))
    if unit := re.search(rf"(?<=\d )({units})\b", answer):
        yield answer[: unit.start()] + family.replacements[unit[0]] + answer[unit.end() :]
    elif PERCENT.search(answer):
        yield PERCENT.sub(" percent", answer)
    elif DOLLARS.search(answer):
        yield DOLLARS.sub(r"\1 dollars", answer)


@generator
def roman_numeral(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    numerals = "|".join(sorted(family.replacements, key=len, reverse=True))
    if answer and (numeral := re.search(rf"(?<=[a-z] )({numerals})\b", answer)):
        yield answer[: numeral.start()] + family.replacements[numeral[1]] + answer[numeral.end() :]


@generator
def sign_for_a_word(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer is None or question.options:
        return
    for text, replacement in family.replacements.items():
        if text in answer:
            yield answer.replace(text, replacement, 1)
            return
