"""Cells of a data set's row: nested columns by a dotted name, and what a cell means as a text or a list of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values

Row = Mapping[str, Any]


class Unusable(Exception):
    """A row that no question can be made of, through no fault of the mapping; the text says why. Such rows are counted."""


def cell(row: Row, name: str) -> Any:
    """The value of a column; `a.b` is the member `b` of column `a`, and of a list of structures the list of their members.

    Raises:
        InputError: there is no such column.
    """
    if name in row:
        return row[name]
    here: Any = row
    for part in name.split("."):
        here = _member(here, part, name, row)
    return here


def _member(here: Any, part: str, name: str, row: Row) -> Any:
    if here is None:
        return None
    if isinstance(here, list):
        return [_member(item, part, name, row) for item in here]
    if not isinstance(here, Mapping) or part not in here:
        there = ", ".join(map(repr, here if isinstance(here, Mapping) else row))
        raise InputError(f"no column {name!r}; there are {there}; mend the source's columns")
    return here[part]


def text(value: Any, what: str) -> str:
    """A text that is not blank, stripped; a number becomes its digits.

    Raises:
        Unusable: there is nothing.
        InputError: it is no text.
    """
    if not (found := maybe_text(value, what)):
        raise Unusable(f"no {what}")
    return found


def maybe_text(value: Any, what: str) -> str:
    """A text, stripped; null is the empty text.

    Raises:
        InputError: it is no text.
    """
    try:
        return values.parse_text(value).strip()
    except values.UnreadableCell as error:
        raise InputError(f"the {what} {error}") from error


def texts(value: Any, what: str) -> list[str]:
    """The texts of a list, or of a single text, stripped and without blank ones.

    Raises:
        InputError: something in it is no text.
    """
    members = value if isinstance(value, list | tuple) else [value]
    return [found for member in members if (found := maybe_text(member, what))]


def whole_list(value: Any, what: str) -> Sequence[Any]:
    """A list as it is.

    Raises:
        InputError: it is none.
    """
    if not isinstance(value, list | tuple):
        raise InputError(f"the {what} is {value!r:.60}; the column must hold lists")
    return value
