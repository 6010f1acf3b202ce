"""The reader of parquet, CSV and JSONL files of any size: chunks of rows, with what is needed to write them unchanged."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
CHUNK_ROWS = 1024
# JSONL rows whose keys count as the columns of the file.
HEADER_ROWS = 64
# Bytes of a parquet column that are fetched at once.
BUFFER_BYTES = 1 << 20
# Python's own limit for a CSV cell (128 KiB) is shorter than a long chain of thought.
MAX_CELL_CHARACTERS = 2**31 - 1

Record = Mapping[str, Any]
# Location in the file, for error messages ("row 3" or "line 3", counted from 1), and column → value.
LocatedRecord = tuple[str, Record]


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        records: column → value per row, null as None; in a CSV file all values are texts, and an empty cell is null.
        locations: of each row in the file, for error messages.
        raw: the rows in the form in which they are written again: a record batch, lists of cells, or lines.
        fraction_read: of the file, 0 to 1.
    """

    records: Sequence[Record]
    locations: list[str]
    raw: Any
    fraction_read: float


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes:
        format: `parquet`, `csv` or `jsonl`.
        columns: names of its columns; for JSONL, the keys of its first rows.
    """

    path: Path
    format: str
    columns: list[str]

    def chunks(self, rows: int = CHUNK_ROWS, columns: Collection[str] | None = None) -> Iterator[Chunk]:
        """Read the rows in order, at most `rows` at a time.

        Args:
            columns: to read; all if omitted. A JSONL row has them all, null where it lacks one.

        Raises:
            InputError: the file is damaged; preceding rows are yielded.
        """
        with translate_errors(self.path, self.format):
            yield from _READERS[self.format](self.path, rows, columns)

    def records(self, columns: Collection[str] | None = None) -> Iterator[LocatedRecord]:
        """Read the rows one by one, with their locations; see `chunks`."""
        for chunk in self.chunks(columns=columns):
            yield from zip(chunk.locations, chunk.records, strict=True)


def open_rows(path: Path, format: str | None = None, needed: Collection[str] = (), endings: Mapping[str, str] = ENDINGS) -> RowFile:
    """Determine the format of a file and its columns.

    Args:
        format: `parquet`, `csv` or `jsonl`; by the file's ending if omitted.
        needed: columns to look for beyond the first rows of a JSONL file. If given, only these must have unique names.
        endings: file ending → format.

    Raises:
        InputError: unknown format, unreadable file, no rows, or a duplicate column.
    """
    format = format or endings.get(path.suffix.lower())
    if format is None:
        raise InputError(f"{path}: unknown file ending; rename the file to end in {', '.join(endings)}, or set its format")
    with translate_errors(path, format):
        columns, has_rows = _HEADERS[format](path, needed)
    if not has_rows:
        raise no_rows(path)
    for name in needed or columns:
        if columns.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} occurs {columns.count(name)} times; rename or drop the others")
    return RowFile(path, format, columns)


def no_rows(path: Path) -> InputError:
    """Return the error for a file without rows."""
    return InputError(f"{path}: the file has no rows; give a file with answers")


@contextmanager
def translate_errors(path: Path, format: str) -> Iterator[None]:
    """Raise errors of the operating system, Arrow and the text decoder as an `InputError` that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason}); convert the file to UTF-8") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable {format} file: {' '.join(str(error).split())}") from error


def parse_json_line(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the object in a line of a JSONL file.

    Raises:
        InputError: the line is not a JSON object.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{path}: line {number} is not JSON ({reason}); write one JSON object per line") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: line {number} is a JSON {type(record).__name__}; write one JSON object per line")
    return record


# --- parquet ---


def _parquet_header(path: Path, needed: Collection[str]) -> tuple[list[str], bool]:
    with pq.ParquetFile(path) as file:
        return file.schema_arrow.names, file.metadata.num_rows > 0


def _read_parquet(path: Path, rows: int, columns: Collection[str] | None) -> Iterator[Chunk]:
    # Buffered by default, a whole row group is fetched before its first row, and many writers put all rows into one group.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        start, total = 0, file.metadata.num_rows
        for batch in file.iter_batches(batch_size=rows, columns=None if columns is None else list(columns)):
            locations = [f"row {start + number}" for number in range(1, batch.num_rows + 1)]
            start += batch.num_rows
            yield Chunk(batch.to_pylist(), locations, batch, start / total)


# --- CSV ---


@contextmanager
def _open_csv(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]], BinaryIO]]:
    """Yield the header, the rows that are not blank (each as wide as the header), and the binary stream."""
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        with path.open("rb") as binary, TextIOWrapper(binary, "utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            try:
                header = next(reader, [])
                yield header, _full_rows(path, reader, len(header)), binary
            except csv.Error as error:
                raise InputError(f"{path}: broken CSV near line {reader.line_num}: {error}; fix the quotes") from error
    finally:
        csv.field_size_limit(limit)


def _full_rows(path: Path, reader: Any, width: int) -> Iterator[list[str]]:
    for row in reader:
        if row and len(row) != width:
            raise InputError(
                f"{path}: line {reader.line_num} has {len(row)} cells and the header {width}; quote cells that contain commas"
            )
        if row:
            yield row


def _csv_header(path: Path, needed: Collection[str]) -> tuple[list[str], bool]:
    with _open_csv(path) as (header, rows, _):
        return header, next(rows, None) is not None


def _read_csv(path: Path, rows: int, columns: Collection[str] | None) -> Iterator[Chunk]:
    size, start = path.stat().st_size, 0
    with _open_csv(path) as (header, all_rows, binary):
        positions = [(name, header.index(name)) for name in (header if columns is None else columns)]
        while cells := list(islice(all_rows, rows)):
            locations = [f"row {start + number}" for number in range(1, len(cells) + 1)]
            start += len(cells)
            records = [{name: row[position] or None for name, position in positions} for row in cells]
            yield Chunk(records, locations, cells, binary.tell() / size)


# --- JSONL ---


def _filled_lines(text: TextIO) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text, 1) if line.strip())


def _jsonl_header(path: Path, needed: Collection[str]) -> tuple[list[str], bool]:
    columns: dict[str, None] = {}
    rows = 0
    with path.open(encoding="utf-8-sig", newline="\n") as text:
        for rows, (number, line) in enumerate(_filled_lines(text), 1):
            if rows > HEADER_ROWS and columns.keys() >= set(needed):
                break
            columns.update(dict.fromkeys(parse_json_line(path, number, line)))
    return list(columns), rows > 0


def _read_jsonl(path: Path, rows: int, columns: Collection[str] | None) -> Iterator[Chunk]:
    size = path.stat().st_size
    with path.open("rb") as binary, TextIOWrapper(binary, "utf-8-sig", newline="\n") as text:
        lines = _filled_lines(text)
        while some := list(islice(lines, rows)):
            records = [parse_json_line(path, number, line) for number, line in some]
            if columns is not None:
                records = [{name: record.get(name) for name in columns} for record in records]
            locations = [f"line {number}" for number, _ in some]
            yield Chunk(records, locations, [line for _, line in some], binary.tell() / size)


_HEADERS = {"parquet": _parquet_header, "csv": _csv_header, "jsonl": _jsonl_header}
_READERS = {"parquet": _read_parquet, "csv": _read_csv, "jsonl": _read_jsonl}
