"""One reading of a text that everything shares: what a function of a text alone returns is computed once per `Text`.

A `Text` is a `str`, so every function of texts takes one. Functions with `view` keep what they return in it: rule modules, features
and lexical judges that ask for the words, the stated answer or the quantities of the same text share them, and they live as long
as the text. Short texts recur in many rows (letters, numbers, names), so the last of them stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from bert_judge.text.options import Expectation

T = TypeVar("T")
# Texts that rows share, and the characters of the longest of them.
SHARED_TEXTS, MAX_SHARED_CHARACTERS = 8192, 100
# Tasks that are kept for further answers, which come in any order.
SHARED_TASKS = 256
_MISSING, _UNCHANGED = object(), object()


class Text(str):
    """A text with the views that were computed of it."""

    __slots__ = ("views",)
    views: dict[Callable[[str], Any], Any]

    def __new__(cls, text: str = "") -> Text:
        if type(text) is cls:
            return text
        return _share(text) if len(text) <= MAX_SHARED_CHARACTERS else _create(text)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Leave the views behind where a text goes to another process."""
        return str, (str(self),)


def _create(text: str) -> Text:
    created = str.__new__(Text, text)
    created.views = {}
    return created


_share = lru_cache(maxsize=SHARED_TEXTS)(_create)


def view(function: Callable[[str], T]) -> Callable[[str], T]:
    """Compute a function of a text once per `Text`, and of a long plain string every time; it must not be changed.

    A text that it returns is a `Text` too.
    """

    @wraps(function)
    def read(text: str) -> Any:
        if type(text) is not Text:
            if len(text) > MAX_SHARED_CHARACTERS:
                return function(text)
            text = _share(text)
        value: Any = text.views.get(function, _MISSING)
        if value is _MISSING:
            value = function(text)
            if type(value) is str:
                value = Text(value)
            # The text itself would be a reference cycle.
            value = text.views[function] = _UNCHANGED if value is text or value == text else value
        return text if value is _UNCHANGED else value

    return read


class Task:
    """A question with its references, read once for all answers to it."""

    def __init__(self, question: str, references: Sequence[str]) -> None:
        self.question = Text(question)
        self.references = tuple(map(Text, references))

    @cached_property
    def options(self) -> Mapping[str, str]:
        """The options that the question lists."""
        # Options are read with views.
        from bert_judge.text.options import parse_options

        return parse_options(self.question)

    @cached_property
    def choice(self) -> Expectation | None:
        """The options that the references name."""
        from bert_judge.text.options import expected_choice

        return expected_choice(self.question, self.references)


@lru_cache(maxsize=SHARED_TASKS)
def read_task(question: str, references: tuple[str, ...]) -> Task:
    """Return the task of a row; rows that come one by one share it."""
    return Task(question, references)
