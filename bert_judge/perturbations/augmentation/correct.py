"""Correct answers: a reference in other words, in another format, shortened, or misspelled."""

import re
from collections.abc import Callable
from functools import partial

from bert_judge.perturbations.augmentation.answers import (
    ASKS_FOR_PERSON,
    MAX_SHORT_WORDS,
    MONTHS,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    vary_phrasing,
)
from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.text.normalization import NUMBER_WORDS

_WORD_OF_NUMBER = {digits: word for word, digits in NUMBER_WORDS.items()}
# After a dash the day belongs to a range.
_DAY_FIRST = re.compile(rf"(?<![\w–-])(\d{{1,2}}) ({'|'.join(MONTHS)}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}),? (\d{{4}})\b")
_SMALL_NUMBER = re.compile(r"(?<![\w.,/:-])(\d{1,2})(?![\w.,/:%-])")
_NUMBER_WORD = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d.,])")
_FULL_NAME = re.compile(r"([A-Z][a-z]+) ([A-Z])[a-z]+ ([A-Z][a-z]+)")
# In a longer text a digit instead of a number word may change the meaning: "one small step".
MAX_WORDS_WITH_NUMBER = 4
# One letter may turn a shorter word into another.
MIN_MISSPELLED_LETTERS = 6

_ASKS_FOR_DATE = re.compile(r"\bwhen\b", re.IGNORECASE)
_MONTH = "|".join(MONTHS)
_DATE = re.compile(rf"(?:\d{{1,2}} (?P<month>{_MONTH})|(?P<first>{_MONTH}) \d{{1,2}}),? (?P<year>\d{{4}})")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|President)\.? (?=[^\W\d_])")
_ARTICLE = re.compile(r"^(?:the|an?|in|on|at|by|from) (?=\w)", re.IGNORECASE)
# Capitalised words only, and no names whose parts belong together: "Bank of America", "New Jersey Devils".
_NAME = re.compile(
    r"(?!(?:New|North|South|Vice|United|Great|San|Los) )(?P<first>[^\W\d_]+) (?:[A-Z][\w'’.-]* )+(?P<last>[A-Z][\w'’-]+)(?<!s)"
)


def restated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, bare or in a phrase, sometimes in lower case; for multiple choice with its letter."""
    text = rng.choose(answer.references, "reference")
    if not text.strip():
        return None
    letter = next((letter for letter in answer.options if letter in answer.references), None)
    if letter and rng.bernoulli(0.5, "letter"):
        text = f"({letter}) {answer.options[letter]}"
    elif not answer.options and rng.bernoulli(0.2, "lower"):
        text = text.lower()
    return AugmentedRow(answer.references, vary_phrasing(text, rng), True)


def reformatted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference whose date, number or name is written in another format."""
    if answer.options:
        return None
    formats = (*_FORMATS, _abbreviate_middle_name) if ASKS_FOR_PERSON.search(answer.question) else _FORMATS
    forms = [form for text in answer.short_references for reformat in formats if (form := reformat(text)) != text]
    return AugmentedRow(answer.references, vary_phrasing(rng.choose(forms, "form"), rng), True) if forms else None


def _spell_out_number(text: str) -> str:
    match = _SMALL_NUMBER.search(text)
    if not match or match[1] not in _WORD_OF_NUMBER or any(month in text for month in MONTHS):
        return text
    return text[: match.start()] + _WORD_OF_NUMBER[match[1]] + text[match.end() :]


def _write_digits(text: str) -> str:
    if len(text.split()) > MAX_WORDS_WITH_NUMBER:
        return text
    return _NUMBER_WORD.sub(lambda match: NUMBER_WORDS[match[1].lower()], text)


def _abbreviate_middle_name(text: str) -> str:
    name = _FULL_NAME.fullmatch(text)
    return f"{name[1]} {name[2]}. {name[3]}" if name else text


_FORMATS: tuple[Callable[[str], str], ...] = (
    partial(_DAY_FIRST.sub, r"\2 \1, \3"),
    partial(_MONTH_FIRST.sub, r"\2 \1 \3"),
    _spell_out_number,
    _write_digits,
    partial(_THOUSANDS.sub, r"\1\2"),
)


def shortened(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference without the day of its date, a middle name, a title, a bracket, an article, or one of two alternatives.

    The annotators of NQ-open accepted 82% to 97% of the answers that contain a reference only in one of these forms. A surname
    alone, which they accepted in 74%, is not among them (docs/log.md).
    """
    if answer.options:
        return None
    forms = [form for reference in answer.short_references for form in shorten(reference, answer.question)]
    return AugmentedRow(answer.references, vary_phrasing(rng.choose(forms, "form"), rng), True) if forms else None


def shorten(reference: str, question: str) -> list[str]:
    """List the shorter forms of a reference that still answer the question, without the reference itself."""
    forms = [pattern.sub("", reference).strip() for pattern in (_BRACKETS, _ARTICLE)]
    alternatives = [alternative.strip() for alternative in reference.split(" or ")]
    forms += alternatives if len(alternatives) == 2 else []
    if _ASKS_FOR_DATE.search(question) and (date := _DATE.fullmatch(reference)):
        forms += [f"{date['month'] or date['first']} {date['year']}", date["year"]]
    if ASKS_FOR_PERSON.search(question):
        forms.append(_TITLE.sub("", reference))
        if (name := _NAME.fullmatch(forms[-1])) and name["first"][0].isupper():
            forms.append(f"{name['first']} {name['last']}")
    # A form that the question contains is no answer.
    return [form for form in forms if form and form != reference and form not in question]


def misspelled(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference with one letter of a long word left out or doubled."""
    if answer.options or not answer.short_references:
        return None
    tokens = rng.choose(answer.short_references, "reference").split()
    positions = [i for i, word in enumerate(tokens) if len(word) >= MIN_MISSPELLED_LETTERS and word.isalpha()]
    if not positions or len(tokens) > MAX_SHORT_WORDS:
        return None
    position = rng.choose(positions, "word")
    word = tokens[position]
    letter = rng.integers(1, len(word) - 2, "letter")
    tokens[position] = word[:letter] + rng.choose(("", word[letter] * 2), "slip") + word[letter + 1 :]
    return AugmentedRow(answer.references, " ".join(tokens), True)
