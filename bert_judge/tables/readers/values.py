"""Parsers of the cells of imported files. Each raises `UnreadableCell` for a value it does not accept."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.runtime.errors import InputError

T = TypeVar("T")
CORRECT_WORDS = frozenset({"correct", "true", "yes"})
INCORRECT_WORDS = frozenset({"incorrect", "false", "no"})
NULL_WORDS = frozenset({"", "nan", "null", "none"})


class UnreadableCell(ValueError):
    """An invalid cell. The message states the problem and the fix; `parse_cell` adds the location."""


def parse_cell(path: Path, location: str, column: str, parse: Callable[[Any], T], value: Any) -> T:
    """Apply one of the parsers below to a cell.

    Args:
        path, location, column: of the cell, for the error message.

    Raises:
        InputError: the cell is invalid.
    """
    try:
        return parse(value)
    except UnreadableCell as error:
        raise InputError(f"{path}: {location}: column {column!r} {error}") from error


def parse_text(value: Any) -> str:
    """Return a text; a number becomes its digits, null the empty text."""
    if is_null(value):
        return ""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        return _format_number(value)
    raise UnreadableCell(f"is {_preview(value)}; give a text")


def parse_required_text(value: Any) -> str:
    """Return a text that is not blank."""
    if not (text := parse_text(value)).strip():
        raise UnreadableCell("is empty; fill it, or exclude the row with imports.<name>.where")
    return text


def parse_texts(value: Any, json_lists: bool = False) -> list[str]:
    """Return the stripped, non-empty texts of a list or of a single text or number.

    Args:
        json_lists: parse a text in brackets as a JSON list, for CSV files.
    """
    if json_lists:
        value = parse_json_list(value)
    members: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [text for member in members if (text := parse_text(member).strip())]


def parse_required_texts(value: Any, json_lists: bool = False) -> list[str]:
    """Return at least one text, like `parse_texts`."""
    if not (texts := parse_texts(value, json_lists)):
        raise UnreadableCell("contains no text; give at least one reference, or exclude the row with imports.<name>.where")
    return texts


def parse_label(value: Any) -> float | None:
    """Return a verdict as a number from 0 (incorrect) to 1 (correct), or None if there is none."""
    if is_null(value):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in NULL_WORDS:
            return None
        if word in CORRECT_WORDS | INCORRECT_WORDS:
            return float(word in CORRECT_WORDS)
        number = to_float(word)
    elif isinstance(value, numbers.Number):
        number = value
    # False for NaN too.
    if 0 <= number <= 1:
        return float(number)
    raise UnreadableCell(
        f"is {_preview(value)}; give 1 or 0, true or false, correct or incorrect, yes or no, a number in [0, 1], or nothing"
    )


def parse_number(value: Any) -> float | None:
    """Return a finite number, or None if there is none."""
    if is_null(value) or (isinstance(value, str) and value.strip().casefold() in NULL_WORDS):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        number = to_float(value)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
    if math.isfinite(number):
        return float(number)
    raise UnreadableCell(f"is {_preview(value)}; give a number, or nothing")


def matches_filter(value: Any, expected: Any) -> bool:
    """Return whether a cell equals the value of a filter; a text equals the number or boolean that it spells."""
    if is_null(value) or expected is None:
        return is_null(value) and expected is None
    if isinstance(value, str) and isinstance(expected, bool):
        return value.strip().casefold() == str(expected).casefold()
    if isinstance(value, str) and isinstance(expected, int | float):
        return to_float(value) == expected
    return bool(value == expected)


def parse_json_list(value: Any) -> Any:
    """Return the list that a text in brackets spells as JSON; other values stay as they are."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        # A text that only looks like a list, e.g. "[1, 2)".
        return value


def to_float(word: str) -> float:
    """Return the number that a text spells, or NaN."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def is_null(value: Any) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _format_number(value: Any) -> str:
    # An integer column with nulls is read as floats: 18.0 was written as 18.
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def _without_surrogates(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnreadableCell(f"has a lone surrogate (half a character) at position {error.start}; remove it") from error
    return value


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
