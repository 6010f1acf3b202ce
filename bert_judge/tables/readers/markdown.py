"""Markdown tables, alone or in a text, and the tables with frames that databases print."""

import logging
import re
from collections.abc import Iterable
from pathlib import Path

from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# The line below a header, |---|:--:|, and a frame, +---+---+.
_RULE = re.compile(r"\s*[|+]?\s*:?[-=]+:?\s*(?:[|+]\s*:?[-=]+:?\s*)*[|+]?\s*")
_BAR = re.compile(r"(?<!\\)\|")
# Line number in the file, and the cells.
Row = tuple[int, list[str]]


def has_table(text: str) -> bool:
    """Return whether a line with bars has a rule of as many columns below it."""
    return any(rows for rows in _tables(text.splitlines()).values())


def read_table(path: Path, lines: Iterable[str]) -> tuple[list[str], list[Row]]:
    """Return header and rows of the longest table; tables with equal headers are one.

    Raises:
        InputError: a row has more cells than the header.
    """
    tables = _tables(lines)
    header = max(tables, key=lambda names: len(tables[names]))
    for names in tables.keys() - {header}:
        log.warning("%s: the table with the columns %s is not read", path, ", ".join(map(repr, names)))
    for number, cells in tables[header]:
        if len(cells) > len(header):
            raise InputError(
                f"{path}: line {number} has {len(cells)} cells and the header {len(header)}; write a bar within a cell as \\|"
            )
    return list(header), [(number, cells + [""] * (len(header) - len(cells))) for number, cells in tables[header]]


def parse_cell(cell: str) -> str:
    """Return the text of a cell."""
    return re.sub(r"<br\s*/?>", "\n", cell.replace("\\|", "|"))


def format_row(cells: Iterable[str]) -> str:
    """Return a line with cells in which bars are escaped."""
    return f"| {' | '.join(cells)} |\n"


def format_cell(text: str) -> str:
    """Return a text as a cell."""
    return re.sub(r"\r?\n|\r", "<br>", text.replace("|", "\\|"))


def _tables(lines: Iterable[str]) -> dict[tuple[str, ...], list[Row]]:
    """Return header → rows."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    rows: list[Row] | None = None
    previous: list[str] = []
    for number, line in enumerate(lines, 1):
        if _RULE.fullmatch(line) and ("|" in line or "+" in line):
            # Between rows, and below the last, a rule is part of the frame.
            if rows is None and len(previous) == len(re.findall("[-=]+", line)):
                rows = tables.setdefault(tuple(name.strip("*_` ") for name in previous), [])
        elif _BAR.search(line):
            previous = [cell.strip() for cell in _BAR.split(line.strip())]
            # Bars outside.
            previous = previous[not previous[0] and line.strip().startswith("|") : len(previous) - (not previous[-1])]
            if rows is not None:
                rows.append((number, previous))
        else:
            rows, previous = None, []
    return tables
