"""Features of the context of a reference in an answer: alternatives, retractions, position, unfinished sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml

from bert_judge.judges.lexical.normalization import normalize_words

WINDOW = 5
# Parts of a list with more words are sentences.
MAX_PART_WORDS = 6
_PART_SEPARATOR = re.compile(r"[,;/|\n]|\s(?:or|and|vs\.?|versus)\s")

CONTEXT_FEATURES = (
    *("alternative_near", "denied_before", "denied_behind"),
    *("retractions_before", "retractions_behind", "words_before", "words_behind"),
    *("rejected_behind", "corrected_behind", "divided", "parts_beside", "unfinished"),
)


@cache
def _word_lists() -> Mapping[str, str]:
    return yaml.safe_load(files("bert_judge.judges.bert").joinpath("words.yaml").read_text("utf-8"))


@cache
def word_list(name: str) -> frozenset[str]:
    """Return one of the lists of `words.yaml`, normalised."""
    return frozenset(normalize_words(_word_lists()[name]))


def reference_context_features(reference_words: frozenset[str], answer_words: Sequence[str], answer: str) -> tuple[float, ...]:
    """Compute `CONTEXT_FEATURES` from content words of the reference and all words and text of the answer; zeros if they do not
    occur."""
    positions = [position for position, word in enumerate(answer_words) if word in reference_words]
    if not positions:
        return (0.0,) * len(CONTEXT_FEATURES)
    before, after = answer_words[: positions[0]], answer_words[positions[-1] + 1 :]
    between = answer_words[positions[0] : positions[-1]]
    retractions = word_list("retractions")
    return (
        _contains_any([*before[-WINDOW:], *after[:WINDOW]], word_list("alternatives")),
        _contains_any(before[-WINDOW:], retractions),
        _contains_any(after[:WINDOW], retractions),
        count_words(before, retractions),
        count_words([*between, *after], retractions),
        math.log1p(len(before)),
        math.log1p(len(after)),
        _contains_any(after[:3], word_list("rejections")),
        count_words(after[: 2 * WINDOW], word_list("corrections")),
        count_words([*before, *between, *after], word_list("case_distinctions")),
        _count_other_parts(reference_words, answer),
        float(answer_words[-1] in word_list("unfinished_endings")),
    )


def _contains_any(text: Sequence[str], vocabulary: frozenset[str]) -> float:
    return float(any(word in vocabulary for word in text))


def count_words(text: Sequence[str], vocabulary: frozenset[str], limit: float = 3.0) -> float:
    """Count the words of a text that are in a vocabulary, up to a limit."""
    return min(limit, sum(word in vocabulary for word in text))


def _count_other_parts(reference_words: frozenset[str], answer: str) -> float:
    segments = [normalize_words(segment) for segment in _PART_SEPARATOR.split(answer)]
    return min(6.0, sum(0 < len(segment) <= MAX_PART_WORDS and reference_words.isdisjoint(segment) for segment in segments))
