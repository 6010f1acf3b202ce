"""What is known about texts: visible text, normalisation, units, extraction, options, formulas, word metrics, features.

`TEXT_VERSION` is part of the spec of every table whose rows depend on these rules, so raising it makes exactly those tables stale.
Raise it with every change of what a rule returns; the golden test fails until then. A change of code, comments or names alone needs
no new version and relabels nothing.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

TEXT_VERSION = 13

T = TypeVar("T")
# Features and rules read the same few texts of a row; longer ones would fill the memory.
REMEMBERED_TEXTS, MAX_REMEMBERED_CHARACTERS = 512, 20_000


def remember(function: Callable[[str], T]) -> Callable[[str], T]:
    """Keep the results of a function for the last texts; they must be immutable."""
    remembered = lru_cache(maxsize=REMEMBERED_TEXTS)(function)

    @wraps(function)
    def call(text: str) -> T:
        return remembered(text) if len(text) <= MAX_REMEMBERED_CHARACTERS else function(text)

    return call
