"""Equality of an extracted answer and a reference in mathematics, as far as it needs no Math-Verify, and how a reason words it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bert_judge.text import extraction
from bert_judge.text.evidence import quote
from bert_judge.text.extraction import is_same_text, names_another_unit, unwrap
from bert_judge.text.latex_forms import is_formula, rewrite_notation, states_in_words
from bert_judge.text.normalization import normalize_words

# Characters of an extracted answer in a label.
MAX_RAW = 300
# References that a reason lists.
_MAX_LISTED = 3
# The digits of every script.
_INTEGER = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)")
_PHRASE = re.compile(r"(?:[Aa] )?[^\W\d_]{2,}(?:[\s,.'’-]+[^\W\d_]+)*[\s.!]*")
_IDLE_SPACE = re.compile(r"\s+(?!\w)|(?<!\w)\s+")


def describe_equality(answer: str, references: Sequence[str], extractor: str, *, is_equal: bool) -> str:
    """Say which part of an answer was compared with what: `final answer "Rome" ≠ "Paris"`."""
    location = "" if extractor == "full_text" else f"{extractor.replace('_', ' ')} "
    return f"{location}{quote(answer)} {'=' if is_equal else '≠'} {' or '.join(map(quote, references[:_MAX_LISTED]))}"


def compare_plain(references: Sequence[str], answer: str, stated: str, text: str) -> bool | None:
    """Compare answers that need no mathematics: identical texts, words, units, integers; None for Math-Verify to decide.

    Args:
        stated: what the answer was read from, in which words may state it.
        text: in which another unit may be named.
    """
    if any(_is_same_formula(reference, answer) or _are_equal_phrases(reference, answer) for reference in references):
        return True
    if any(states_in_words(reference, stated) for reference in references):
        return True
    if references and all(names_another_unit(reference, text) for reference in references):
        return False
    if references and all(map(_is_prose, (answer, *references))):
        # Math-Verify would find no expression in the answer.
        return False
    numbers = [_integer(value) for value in (answer, *references)]
    return numbers[0] in numbers[1:] if None not in numbers else None


def lists_all(references: Sequence[str], answer: str) -> bool:
    """Return whether the numbers of an answer are those of all references, of which one would do: "2019 and 2018"."""
    numbers = [extraction.extract_numbers(reference) for reference in references]
    if len(answer) > MAX_RAW or any(len(of_reference) != 1 for of_reference in numbers):
        return False
    return sorted(extraction.extract_numbers(answer)) == sorted(of_reference[0] for of_reference in numbers)


def _is_same_formula(reference: str, answer: str) -> bool:
    """Return whether two texts are identical up to spaces between symbols: 1, 2 is the list 1,2, which alone may be a decimal."""
    first, second = (_IDLE_SPACE.sub("", " ".join(rewrite_notation(text).split())) for text in (reference, answer))
    return is_same_text(first, second) and not names_another_unit(reference, answer)


def _are_equal_phrases(reference: str, answer: str) -> bool:
    """Return whether two texts of letters alone have the same words: yes and Yes, but not x and X."""
    first, second = extraction.strip_markup(reference), extraction.strip_markup(answer)
    return bool(_PHRASE.fullmatch(first) and _PHRASE.fullmatch(second)) and normalize_words(first) == normalize_words(second)


def _is_prose(text: str) -> bool:
    """Return whether a text is of words only, and no formula: Tuesday, but not xy."""
    return bool(_PHRASE.fullmatch(extraction.strip_markup(text))) and not is_formula(extraction.strip_markup(text))


def _integer(text: str) -> int | None:
    text = unwrap(text).replace("−", "-")
    return int(text.replace(",", "")) if len(text) < 100 and _INTEGER.fullmatch(text) else None
