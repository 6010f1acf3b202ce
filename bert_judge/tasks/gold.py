r"""Reference forms: how data sets write a right answer, and the texts that are right.

A number is kept in its plain form first ("1234"), then as written ("1,234"), so that a rule that compares texts knows both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bert_judge.tasks import cells
from bert_judge.tasks.cells import Unusable
from bert_judge.tasks.latex import boxed

# 1,234 or 1{,}234 or 1\,234 or 1,\!234: one to three digits, then groups of three.
_GROUPED = re.compile(r"(-?)\$?(\d{1,3}(?:(?:,(?:\\!)?|\{,\}|\\,)\d{3})+)(\.\d+)?")
_LEADING_ZEROS = re.compile(r"(-?)0+(\d+)")
# "9 (apples)": a value and what it counts.
_WITH_UNIT = re.compile(r"([^()]+?)\s*\([^()]*\)")


def number_forms(answer: str) -> list[str]:
    """The answer, and before it its plain form when it is a number with separators or leading zeros."""
    plain = answer
    if grouped := _GROUPED.fullmatch(answer):
        plain = f"{grouped[1]}{re.sub(r'[^0-9]', '', grouped[2])}{grouped[3] or ''}"
    elif zeros := _LEADING_ZEROS.fullmatch(answer):
        plain = f"{zeros[1]}{zeros[2]}"
    return list(dict.fromkeys([plain, answer]))


def after_hashes(solution: str) -> list[str]:
    """GSM8K: the number behind the last ####.

    Raises:
        Unusable: there is none.
    """
    _, mark, answer = solution.rpartition("####")
    if not mark or not answer.strip():
        raise Unusable("no #### in its answer")
    return number_forms(answer.strip())


def last_box(solution: str) -> list[str]:
    r"""MATH: the content of the solution's last `\boxed{…}`, nested braces and all.

    Raises:
        Unusable: there is none.
    """
    if (answer := boxed(solution)) is None:
        raise Unusable("no closed box in its solution")
    return number_forms(answer)


def without_unit(answer: str) -> list[str]:
    """ASDiv: the value of "9 (apples)"; several values, "9 (apples); 2 (pears)", are one reference as a whole."""
    match = _WITH_UNIT.fullmatch(answer)
    return number_forms(match[1] if match else answer)


def drop_answers(cell: Any) -> Iterator[str]:
    """DROP: the text of each answer of a cell, which holds one answer or several people's; a list of spans is one answer.

    Raises:
        InputError: the cell has not DROP's structure.
    """
    for answer in _one_by_one(cell):
        number, date = cells.cell(answer, "number"), cells.cell(answer, "date") or {}
        spans = cells.texts(cells.cell(answer, "spans") or [], "list of spans")
        if number not in (None, ""):
            yield from number_forms(cells.text(number, "number"))
        elif spans:
            yield ", ".join(spans)
        elif words := [date[part].strip() for part in ("day", "month", "year") if date.get(part)]:
            yield " ".join(words)


def _one_by_one(cell: Any) -> Iterator[Mapping[str, Any]]:
    """Several answers are a list of structures, or, as older versions of `datasets` store it, a structure of lists."""
    if isinstance(cell, list):
        yield from cell
    elif isinstance(number := cells.cell(cell or {}, "number") if cell else None, list):
        for at in range(len(number)):
            yield {key: _at(cell[key], at) for key in ("number", "date", "spans")}
    elif cell:
        yield cell


def _at(column: Any, at: int) -> Any:
    if isinstance(column, Mapping):
        return {key: values[at] for key, values in column.items()}
    return column[at] if column else None
