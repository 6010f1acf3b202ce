"""Similarity of two lists of words: exact match, containment, token F1 and ROUGE-L."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

Words = list[str]

# The longest common subsequence takes quadratic time, so longer texts are truncated.
MAX_REFERENCE_WORDS, MAX_COMMON_WORDS = 1_000, 5_000
# A reference of so few words or characters is a name or a number, in which one number, letter or numeral distinguishes answers.
MAX_SHORT_REFERENCE, MAX_SHORT_CHARACTERS = 3, 6
_LAST_DESIGNATOR = re.compile(r"\W?[a-zα-ω]|[ivx]+")
_FORMULA_WORD = re.compile(r"[a-zα-ω]{0,2}|sin|cos|tan|cot|log|exp|sqrt|frac|.*\d.*|\W+|[a-z]\W{1,2}|\W[a-z]")
# Longer references are sentences.
MAX_JOINED_CHARACTERS = 60
_CODE = re.compile(r"[\d_/]|\w-\w")
_YEAR = re.compile(r"[12]\d{3}")
_NEGATION_BEFORE = re.compile(r"(?<![^\W_])(?:non|un|not|no|anti|in|dis|a)[-_]\Z", re.IGNORECASE)
_JOINED_BEFORE = re.compile(r"\w[-_/]\Z")
_JOINED_AFTER = re.compile(r"[-_/]\w|\.\d|[⁰¹²³⁴-⁹⁺⁻]|\^")


def exact_match(reference: Words, answer: Words) -> float:
    return float(reference == answer)


def contains(reference: Words, answer: Words) -> float:
    """Return 1 if the answer contains the reference's words consecutively."""
    return float(f" {' '.join(reference)} " in f" {' '.join(answer)} ")


def token_f1(reference: Words, answer: Words) -> float:
    """Compute SQuAD's F1 of the common words."""
    common = (Counter(reference) & Counter(answer)).total()
    return 2 * common / (len(reference) + len(answer)) if common else 0.0


def rouge_l_recall(reference: Words, answer: Words) -> float:
    """Compute the share of the reference's words in the longest common subsequence (Lin, 2004)."""
    return common_subsequence_length(reference, answer) / len(reference)


def rouge_l_f(reference: Words, answer: Words) -> float:
    """Compute ROUGE-L's F-measure with equal weights, as the package `rouge-score` does."""
    return 2 * common_subsequence_length(reference, answer) / (len(reference) + len(answer))


class WordMetric(NamedTuple):
    """A metric of non-empty reference and answer words; a binary one is 0 or 1, without threshold, on words instead of stems."""

    compute: Callable[[Words, Words], float]
    is_binary: bool


WORD_METRICS: Mapping[str, WordMetric] = {
    "exact_match": WordMetric(exact_match, True),
    "contains": WordMetric(contains, True),
    "token_f1": WordMetric(token_f1, False),
    "rouge_l_recall": WordMetric(rouge_l_recall, False),
    "rouge_l_f": WordMetric(rouge_l_f, False),
}


def has_distinctions(reference: Words, answer: Words) -> bool:
    """Return whether the answer has the words of a reference that an average over all words must not outweigh.

    These are a whole formula; all numbers of a list, in any order; and of a short reference its negations, its only number or the
    one it ends with, all numbers of two words, and a letter or numeral at its end ("Hepatitis A", "Henry VIII").
    """
    numbers = {word for word in reference if any(map(str.isdigit, word))}
    if len(numbers) < len(set(reference)) and all(map(_FORMULA_WORD.fullmatch, reference)):
        return bool(contains(reference, answer))
    if len(numbers) == len(set(reference)):
        return not Counter(reference) - Counter(answer)
    is_short = sum(map(len, reference)) <= MAX_SHORT_CHARACTERS
    if len(reference) > MAX_SHORT_REFERENCE and not is_short:
        return True
    if len(reference) == 2 == sum(map(len, reference)):
        return bool(contains(reference, answer))
    # For a date, the year alone may do.
    decisive = numbers if len(reference) < MAX_SHORT_REFERENCE or is_short or len(numbers) == 1 else numbers & {reference[-1]}
    if len(reference) > 1 and _LAST_DESIGNATOR.fullmatch(reference[-1]):
        decisive = decisive | {reference[-1]}
    return decisive | ({"not", "no"} & set(reference)) <= set(answer)


@lru_cache(maxsize=1 << 14)
def _occurrences(text: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)


# Of 5,5, but not of the list 5,6,7.
_DECIMALS, _BEFORE_DECIMALS = re.compile(r",\d{1,2}(?![\d,])"), re.compile(r"(?<![\d,])\d+,\Z")


def stands_alone(reference: str, answer: str) -> bool:
    """Return whether a reference occurs in an answer otherwise than as a part of a longer word: linear in non-linear, 1-2 in 1-2-3.

    Hyphens, underscores, slashes and superscripts join words; in a sentence, a hyphen or slash beside plain words does not:
    Paris-based. A text without the reference in its own spelling says nothing.
    """
    text = reference.strip().rstrip(".")
    if not text or len(text) > MAX_JOINED_CHARACTERS:
        return True
    is_code = bool(_CODE.search(text)) or len(answer.split()) == 1
    is_joined = False
    for match in _occurrences(text).finditer(answer):
        before, after = answer[max(0, match.start() - 12) : match.start()], answer[match.end() : match.end() + 6]
        if before[-1:].isalnum() or (after[:1].isalnum() and text[-1].isalnum()):
            continue
        if text.isdecimal() and (_DECIMALS.match(after) or _BEFORE_DECIMALS.search(before)):
            is_joined = True
            continue
        joins = _NEGATION_BEFORE.search(before) or (is_code and (_JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after)))
        # A span of years begins with a year.
        if not joins or (_YEAR.fullmatch(text) and after[:1] in "-–/"):
            return True
        is_joined = True
    return not is_joined


def common_subsequence_length(reference: Words, answer: Words) -> int:
    """Compute the length of the longest common subsequence of the first words of a reference and the last ones of an answer."""
    reference = reference[:MAX_REFERENCE_WORDS]
    vocabulary = set(reference)
    return LCSseq.similarity(reference, [word for word in answer if word in vocabulary][-MAX_COMMON_WORDS:])
