"""Parquet, CSV and JSONL files as plain columns. Knows the three formats and nothing of what the columns mean."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
# Longest cell of a CSV file; Python's own limit of 128 KiB is less than a long chain of thought.
LONGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class Columns:
    """Some columns of a file as Python values; null is None.

    Attributes:
        present: names of all columns of the file.
        values: the columns that were asked for and are there.
        places: where each row stands in the file, for messages: "row 3" or "line 3", counted from 1.
    """

    path: Path
    format: str
    present: list[str]
    values: dict[str, list[Any]]
    places: list[str]

    def keep(self, chosen: Sequence[bool]) -> Columns:
        """Only the rows for which `chosen` is true."""
        values = {name: list(compress(column, chosen)) for name, column in self.values.items()}
        return Columns(self.path, self.format, self.present, values, list(compress(self.places, chosen)))


def read(path: Path, format: str, names: Iterable[str]) -> Columns:
    """Read the named columns; a name that the file lacks is left out.

    Args:
        format: `parquet`, `csv`, `jsonl`, or `auto` to go by the file's ending.

    Raises:
        InputError: no such file, another format, broken text, no rows, or one of the columns is there twice.
    """
    if format == "auto":
        if path.suffix.lower() not in ENDINGS:
            raise InputError(f"{path}: the ending does not tell the format; set imports.<name>.format to parquet, csv or jsonl")
        format = ENDINGS[path.suffix.lower()]
    reader = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}[format]
    with damage_told(path, format):
        columns = reader(path, sorted(set(names)))
    if not columns.places:
        raise no_rows(path)
    return columns


@contextmanager
def damage_told(path: Path, format: str) -> Iterator[None]:
    """Say of which file it is that it cannot be read, and why.

    Raises:
        InputError: in place of what the operating system, Arrow or the decoder raises.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason}); convert the file to UTF-8") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable {format} file: {' '.join(str(error).split())}") from error


def no_rows(path: Path) -> InputError:
    """The fault of a file without any row."""
    return InputError(f"{path}: the file has no rows; import a file with answers")


def _parquet(path: Path, names: list[str]) -> Columns:
    file = pq.ParquetFile(path)
    present = file.schema_arrow.names
    wanted = _once(path, present, names)
    # A column of no width still tells the number of rows.
    table = file.read(columns=wanted)
    values = {name: table.column(name).to_pylist() for name in wanted}
    return Columns(path, "parquet", present, values, [f"row {at}" for at in range(1, file.metadata.num_rows + 1)])


def _csv(path: Path, names: list[str]) -> Columns:
    """All cells are text, whatever they look like; an empty cell is null."""
    with path.open(encoding="utf-8-sig", newline="") as text, long_cells():
        rows = csv.reader(text, strict=True)
        try:
            present = next(rows, [])
            wanted = _once(path, present, names)
            picks = [present.index(name) for name in wanted]
            cells = [[row[pick] or None for pick in picks] for row in whole_rows(path, rows, len(present))]
        except csv.Error as error:
            raise InputError(f"{path}: broken CSV near line {rows.line_num}: {error}; mend the quotes") from error
    values = {name: [row[at] for row in cells] for at, name in enumerate(wanted)}
    return Columns(path, "csv", present, values, [f"row {at}" for at in range(1, len(cells) + 1)])


def whole_rows(path: Path, rows: Any, width: int) -> Iterator[list[str]]:
    """The rows of a CSV reader that are not blank; each must be as wide as the header."""
    for row in rows:
        if not row:
            continue
        if len(row) != width:
            raise InputError(
                f"{path}: line {rows.line_num} has {len(row)} cells and the header {width}; quote cells that hold commas"
            )
        yield row


@contextmanager
def long_cells() -> Iterator[None]:
    """Let Python's CSV reader take cells of any length."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _jsonl(path: Path, names: list[str]) -> Columns:
    """One object per line; blank lines do not count, and a key that an object lacks is null."""
    values: dict[str, list[Any]] = {name: [] for name in names}
    present: dict[str, None] = {}
    places: list[str] = []
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            found = record(path, number, line)
            present.update(dict.fromkeys(found))
            places.append(f"line {number}")
            for name, column in values.items():
                column.append(found.get(name))
    return Columns(path, "jsonl", list(present), {name: values[name] for name in names if name in present}, places)


def record(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object that a line of a JSONL file holds."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{path}: line {number} is not JSON ({reason}); write one JSON object per line") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: line {number} is a JSON {type(found).__name__}; write one JSON object per line")
    return found


def _once(path: Path, present: Sequence[str], names: Iterable[str]) -> list[str]:
    """The names that are present; each must be there once."""
    counts = Counter(present)
    wanted = [name for name in names if counts[name]]
    for name in wanted:
        if counts[name] > 1:
            raise InputError(f"{path}: the column {name!r} is there {counts[name]} times; rename or drop the others")
    return wanted
