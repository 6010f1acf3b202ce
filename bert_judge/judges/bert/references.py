"""Several references, one judge that takes one: which one, and how the verdicts combine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def closest(candidate: str, references: Sequence[str]) -> str:
    """The reference that shares most with the candidate: F1 of their words, the first among equals."""
    if len(references) == 1:
        return references[0]
    words = _words(candidate)
    return max(references, key=lambda reference: _f1(words, _words(reference)))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _f1(one: Counter[str], other: Counter[str]) -> float:
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0
