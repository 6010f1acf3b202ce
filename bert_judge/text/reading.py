"""One reading of a text that everything shares: what a function of a text alone returns is computed once per `Text`.

A `Text` is a `str`, so every function of texts takes one. Functions with `view` keep what they return in it: rule modules, features
and lexical judges that ask for the words, the stated answer or the quantities of the same text share them, and they live as long
as the text. Of a plain `str`, they are computed every time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")
_UNCHANGED = object()


class Text(str):
    """A text with the views that were computed of it."""

    __slots__ = ("views",)
    views: dict[Callable[[str], Any], Any]

    def __new__(cls, text: str = "") -> Text:
        if type(text) is cls:
            return text
        self = super().__new__(cls, text)
        self.views = {}
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Leave the views behind where a text goes to another process."""
        return str, (str(self),)


def view(function: Callable[[str], T]) -> Callable[[str], T]:
    """Compute a function of a text once per `Text`; a text that it returns is a `Text` too. Results must not be changed."""

    @wraps(function)
    def read(text: str) -> Any:
        if type(text) is not Text:
            return function(text)
        try:
            value = text.views[function]
        except KeyError:
            value = function(text)
            if type(value) is str:
                # The text itself would be a reference cycle.
                value = _UNCHANGED if value == text else Text(value)
            elif value is text:
                value = _UNCHANGED
            text.views[function] = value
        return text if value is _UNCHANGED else value

    return read
