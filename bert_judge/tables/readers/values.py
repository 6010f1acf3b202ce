"""What a cell of an imported file may look like, and what it then means. Each function raises `Unreadable` for anything else."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.runtime.errors import InputError

T = TypeVar("T")
RIGHT = frozenset({"correct", "true", "yes"})
WRONG = frozenset({"incorrect", "false", "no"})
NO_VERDICT = frozenset({"", "nan", "null", "none"})


class Unreadable(ValueError):
    """A cell that makes no sense; the text says why and what would, and is the second half of an `InputError`."""


def meant(path: Path, place: str, column: str, convert: Callable[[Any], T], value: Any) -> T:
    """What one of the functions below makes of a cell.

    Args:
        path, place, column: where the cell is, for the message.

    Raises:
        InputError: it makes no sense.
    """
    try:
        return convert(value)
    except Unreadable as error:
        raise InputError(f"{path}: {place}: column {column!r} {error}") from error


def text(value: Any) -> str:
    """A text; a number becomes its digits, null the empty text."""
    if is_null(value):
        return ""
    if isinstance(value, str):
        return _whole_characters(value)
    if isinstance(value, numbers.Number) and not isinstance(value, bool):
        return _digits(value)
    raise Unreadable(f"is {_shown(value)}; give a text")


def filled_text(value: Any) -> str:
    """A text that is not blank."""
    if not (found := text(value)).strip():
        raise Unreadable("is empty; fill it, or leave the row out with imports.<name>.where")
    return found


def texts(value: Any, is_json: bool = False) -> list[str]:
    """Texts, stripped and without empty ones, of a list or of a single text or number.

    Args:
        is_json: a text in brackets is a JSON list, as in a CSV file, which has no lists.
    """
    if is_json and isinstance(value, str) and value.lstrip().startswith("["):
        value = _json_list(value)
    members: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [stripped for member in members if (stripped := text(member).strip())]


def filled_texts(value: Any, is_json: bool = False) -> list[str]:
    """As `texts`, and at least one."""
    if not (found := texts(value, is_json)):
        raise Unreadable("holds no text; give at least one right answer, or leave the row out with imports.<name>.where")
    return found


def share(value: Any) -> float | None:
    """A verdict as a number from 0 (wrong) to 1 (right); None is no verdict."""
    if is_null(value):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in NO_VERDICT:
            return None
        if word in RIGHT | WRONG:
            return float(word in RIGHT)
        number = number_in(word)
    elif isinstance(value, numbers.Number):
        number = value
    # Not a number fails this too.
    if 0 <= number <= 1:
        return float(number)
    raise Unreadable(
        f"is {_shown(value)}; give 1 or 0, true or false, correct or incorrect, yes or no, a share in [0, 1], or nothing"
    )


def finite(value: Any) -> float | None:
    """A number; None where there is nothing."""
    if is_null(value) or (isinstance(value, str) and value.strip().casefold() in NO_VERDICT):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        number = number_in(value)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
    if math.isfinite(number):
        return float(number)
    raise Unreadable(f"is {_shown(value)}; give a number, or nothing")


def matches(value: Any, wanted: Any) -> bool:
    """Whether a cell has the value that a filter names; null matches null, and a text matches the number or truth it spells."""
    if is_null(value) or wanted is None:
        return is_null(value) and wanted is None
    if isinstance(value, str) and isinstance(wanted, bool):
        return value.strip().casefold() == str(wanted).casefold()
    if isinstance(value, str) and isinstance(wanted, int | float):
        return number_in(value) == wanted
    return bool(value == wanted)


def number_in(word: str) -> float:
    """The number a text spells; not a number when it spells none."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def is_null(value: Any) -> bool:
    """None, or not a number: what parquet and JSON files hold where there is nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _digits(value: Any) -> str:
    # A column of whole numbers with a null in it comes as floats: 18.0 was written as 18.
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def _whole_characters(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unreadable(f"has half a character (a lone surrogate) at place {error.start}; remove it from the file") from error
    return value


def _json_list(value: str) -> Any:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        # A text that only looks like a list, "[1, 2)" for example.
        return value
    return found


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
