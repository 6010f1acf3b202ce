"""Excel workbooks (.xlsx): the first sheet is a table whose header is the first row with two or more filled cells."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.limits import check_archive

# A row with its number in the sheet.
NumberedRow = tuple[int, list[Any]]


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


def read_table(workbook: Any) -> tuple[int, list[str], Iterator[NumberedRow]]:
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
