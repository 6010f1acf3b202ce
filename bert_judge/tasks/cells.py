"""Cells of a dataset row: nested columns by dotted names, parsed as a text or a list of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values

SourceRow = Mapping[str, Any]


class UnusableRow(Exception):
    """A row that no question can be made from, although the column mapping is right. The message gives the reason."""


def get_cell(row: SourceRow, name: str) -> Any:
    """Return the value of a column; `a.b` is the member `b` of column `a`, and for a list of structures the list of their members.

    Raises:
        InputError: no such column.
    """
    if name in row:
        return row[name]
    value: Any = row
    for key in name.split("."):
        value = _get_member(value, key, name, row)
    return value


def _get_member(value: Any, key: str, name: str, row: SourceRow) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_get_member(item, key, name, row) for item in value]
    if not isinstance(value, Mapping) or key not in value:
        present = ", ".join(map(repr, value if isinstance(value, Mapping) else row))
        raise InputError(f"no column {name!r}; available: {present}; fix the source's columns")
    return value[key]


def parse_text(value: Any, content: str) -> str:
    """Return a stripped text that is not blank; a number becomes its digits.

    Args:
        content: name of the value for error messages, e.g. `question`.

    Raises:
        UnusableRow: the cell is empty.
        InputError: it is not a text.
    """
    if not (text := parse_optional_text(value, content)):
        raise UnusableRow(f"no {content}")
    return text


def parse_optional_text(value: Any, content: str) -> str:
    """Return a stripped text, empty for null; see `parse_text`."""
    try:
        return values.parse_text(value).strip()
    except values.UnreadableCell as error:
        raise InputError(f"the {content} {error}") from error


def parse_texts(value: Any, content: str) -> list[str]:
    """Return the stripped, non-blank texts of a list or of a single text; see `parse_text`."""
    members = value if isinstance(value, list | tuple) else [value]
    return [text for member in members if (text := parse_optional_text(member, content))]


def parse_list(value: Any, content: str) -> Sequence[Any]:
    """Return a list unchanged.

    Raises:
        InputError: it is not a list.
    """
    if not isinstance(value, list | tuple):
        raise InputError(f"the {content} is {value!r:.60}; the column must hold lists")
    return value
