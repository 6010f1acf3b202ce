"""Tables of texts in other content: Markdown tables and the frames that databases print, and Excel workbooks (.xlsx).

The table of a workbook is its first sheet, whose header is the first row with two or more filled cells.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.limits import check_archive

log = logging.getLogger(__name__)

# The line below a header, |---|:--:|, and a frame, +---+---+.
_RULE = re.compile(r"\s*[|+]?\s*:?[-=]+:?\s*(?:[|+]\s*:?[-=]+:?\s*)*[|+]?\s*")
_BAR = re.compile(r"(?<!\\)\|")
# Number of a line or of a row of the sheet, and the cells.
NumberedRow = tuple[int, list[Any]]


def has_table(text: str) -> bool:
    """Return whether a line with bars has a rule of as many columns below it."""
    return any(rows for rows in _tables(text.splitlines()).values())


def read_markdown(path: Path, lines: Iterable[str]) -> tuple[list[str], list[NumberedRow]]:
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


def _tables(lines: Iterable[str]) -> dict[tuple[str, ...], list[NumberedRow]]:
    """Return header → rows."""
    tables: dict[tuple[str, ...], list[NumberedRow]] = {}
    rows: list[NumberedRow] | None = None
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


@contextmanager
def open_workbook(path: Path, *, read_only: bool) -> Iterator[Any]:
    """Open a workbook, with the last results of its formulas if it is read only.

    Raises:
        InputError: openpyxl is not installed, or cannot read the file.
    """
    try:
        # Imported lazily: an extra.
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError as error:
        raise InputError(
            f"{path}: an Excel workbook needs openpyxl; run pip install openpyxl, or save it as CSV (UTF-8)"
        ) from error
    # A stream, because openpyxl refuses names with another ending.
    with path.open("rb") as stream:
        try:
            check_archive(path)
            workbook = openpyxl.load_workbook(stream, read_only=read_only, data_only=read_only)
        except (InvalidFileException, BadZipFile, KeyError, ValueError, TypeError, SyntaxError) as error:
            raise InputError(f"{path}: not a readable Excel workbook ({error}); save it as CSV (UTF-8)") from error
        with closing(workbook):
            yield workbook


def read_workbook(workbook: Any) -> tuple[int, list[str], Iterator[NumberedRow]]:
    """Return the number of the header row of the first sheet, the header, and the rows below that are not blank."""
    rows = enumerate(workbook.worksheets[0].iter_rows(), 1)
    for number, row in rows:
        names = [_read_cell(cell) for cell in row]
        if sum(name is not None for name in names) > 1:
            header = ["" if name is None else str(name).strip() for name in names]
            while not header[-1]:
                header.pop()
            return number, header, _filled_rows(rows, len(header))
    return 0, [], iter(())


def _filled_rows(rows: Iterator[tuple[int, Any]], width: int) -> Iterator[NumberedRow]:
    for number, row in rows:
        cells = [_read_cell(cell) for cell in row[:width]]
        if any(cell is not None for cell in cells):
            yield number, cells + [None] * (width - len(cells))


def _read_cell(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, float | int) and not isinstance(value, bool) and "%" in str(cell.number_format):
        # As the sheet shows it: 0.5 is 50%.
        return f"{value * 100:.10g}%"
    return None if value == "" else value
