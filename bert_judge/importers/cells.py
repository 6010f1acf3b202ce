r"""Cells of a dataset row: nested columns by dotted names, parsed as a text, a list of texts, or the stored form of an answer.

A number is given in its plain form first ("1234"), then as written ("1,234"), so that rules that compare texts know both.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.text.latex import boxed

SourceRow = Mapping[str, Any]
# 1,234 or 1{,}234 or 1\,234 or 1,\!234: one to three digits, then groups of three.
_GROUPED = re.compile(r"(-?)\$?(\d{1,3}(?:(?:,(?:\\!)?|\{,\}|\\,)\d{3})+)(\.\d+)?")
_LEADING_ZEROS = re.compile(r"(-?)0+(\d+)")
# "9 (apples)": a value and its unit.
_WITH_UNIT = re.compile(r"([^()]+?)\s*\([^()]*\)")


class UnusableRow(Exception):
    """A row that no question can be made from, although the column mapping is right. The message gives the reason."""


def require_cell(row: SourceRow, name: str) -> Any:
    """Return the cell of a column that must exist; `a.b` is the member `b` of `a`, for a list of structures the list of theirs."""
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
    """Return a list unchanged. Raises InputError: it is not a list."""
    if not isinstance(value, list | tuple):
        raise InputError(f"the {content} is {value!r:.60}; the column must hold lists")
    return value


def number_forms(answer: str) -> list[str]:
    """Return an answer, preceded by its plain form if it is a number with separators or leading zeros."""
    plain = answer
    if grouped := _GROUPED.fullmatch(answer):
        plain = f"{grouped[1]}{re.sub(r'[^0-9]', '', grouped[2])}{grouped[3] or ''}"
    elif zeros := _LEADING_ZEROS.fullmatch(answer):
        plain = f"{zeros[1]}{zeros[2]}"
    return list(dict.fromkeys([plain, answer]))


def after_hashes(solution: str) -> list[str]:
    """Return the number after the last #### (GSM8K). Raises UnusableRow: nothing matches."""
    _, mark, answer = solution.rpartition("####")
    if not mark or not answer.strip():
        raise UnusableRow("no #### in its answer")
    return number_forms(answer.strip())


def last_box(solution: str) -> list[str]:
    r"""Return the content of the last `\boxed{…}` of a solution, including nested braces (MATH).

    Raises:
        UnusableRow: nothing matches.
    """
    if (answer := boxed(solution)) is None:
        raise UnusableRow("no closed box in its solution")
    return number_forms(answer)


def without_unit(answer: str) -> list[str]:
    """Return the value of "9 (apples)" (ASDiv); several values, "9 (apples); 2 (pears)", remain one reference."""
    match = _WITH_UNIT.fullmatch(answer)
    return number_forms(match[1] if match else answer)


def drop_answers(cell: Any) -> Iterator[str]:
    """Yield the text of each answer of a cell with one or several annotators' answers (DROP); a list of spans is one answer."""
    for answer in _split_answers(cell):
        number, date = require_cell(answer, "number"), require_cell(answer, "date") or {}
        spans = parse_texts(require_cell(answer, "spans") or [], "list of spans")
        if number not in (None, ""):
            yield from number_forms(parse_text(number, "number"))
        elif spans:
            yield ", ".join(spans)
        elif date_parts := [date[unit].strip() for unit in ("day", "month", "year") if date.get(unit)]:
            yield " ".join(date_parts)


def _split_answers(cell: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of a list of structures, or of a structure of lists, as older versions of `datasets` store it."""
    if isinstance(cell, list):
        yield from cell
    elif isinstance(number := require_cell(cell or {}, "number") if cell else None, list):
        for index in range(len(number)):
            yield {key: _get_item(cell[key], index) for key in ("number", "date", "spans")}
    elif cell:
        yield cell


def _get_item(column: Any, index: int) -> Any:
    if isinstance(column, Mapping):
        return {key: values[index] for key, values in column.items()}
    return column[index] if column else None
