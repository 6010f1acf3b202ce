"""The rows of a parquet, CSV or JSONL file of any size, some at a time, each with what is needed to write it again unchanged."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats

# Of a column of a parquet file that are fetched at once.
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        records: column → value per row; in a CSV file all values are texts and an empty cell is null.
        places: where each row stands in the file, for messages.
        raw: the rows as they are written again: a record batch, lists of cells, or lines.
        read: share of the file that is read by now, 0 to 1.
    """

    records: Sequence[Mapping[str, Any]]
    places: list[str]
    raw: Any
    read: float


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes:
        format: `parquet`, `csv` or `jsonl`.
        columns: names of its columns; of a JSONL file those of its first rows.
    """

    path: Path
    format: str
    columns: list[str]

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """Its rows in their order, at most `rows` at a time.

        Raises:
            InputError: the file is damaged; rows before that are given.
        """
        reader = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}[self.format]
        with formats.damage_told(self.path, self.format):
            yield from reader(self.path, rows)


def open_rows(path: Path) -> RowFile:
    """Look at a file's format, by its ending, and at its columns.

    Raises:
        InputError: another format, not readable, without rows, or a column is there twice.
    """
    format = formats.ENDINGS.get(path.suffix.lower())
    if format is None:
        raise InputError(f"{path}: the ending does not tell the format; name it {', '.join(formats.ENDINGS)}")
    first = next(RowFile(path, format, []).chunks(64), None)
    if first is None:
        raise formats.no_rows(path)
    columns = list(dict.fromkeys(name for record in first.records for name in record))
    return RowFile(path, format, columns)


def _parquet(path: Path, rows: int) -> Iterator[Chunk]:
    # Otherwise a whole row group is fetched before its first row is given, and many writers put all rows into one.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        _check_names(path, file.schema_arrow.names)
        done, total = 0, file.metadata.num_rows
        for batch in file.iter_batches(batch_size=rows):
            places = [f"row {at}" for at in range(done + 1, done + batch.num_rows + 1)]
            done += batch.num_rows
            yield Chunk(batch.to_pylist(), places, batch, done / total)


def _csv(path: Path, rows: int) -> Iterator[Chunk]:
    with path.open("rb") as binary, TextIOWrapper(binary, "utf-8-sig", newline="") as text, formats.long_cells():
        size, done = path.stat().st_size, 0
        reader = csv.reader(text, strict=True)
        try:
            names = next(reader, [])
            _check_names(path, names)
            whole = formats.whole_rows(path, reader, len(names))
            while cells := list(islice(whole, rows)):
                places = [f"row {at}" for at in range(done + 1, done + len(cells) + 1)]
                done += len(cells)
                records = [{name: cell or None for name, cell in zip(names, row, strict=True)} for row in cells]
                yield Chunk(records, places, cells, binary.tell() / size)
        except csv.Error as error:
            raise InputError(f"{path}: broken CSV near line {reader.line_num}: {error}; mend the quotes") from error


def _jsonl(path: Path, rows: int) -> Iterator[Chunk]:
    with path.open("rb") as binary, TextIOWrapper(binary, "utf-8-sig", newline="\n") as text:
        size = path.stat().st_size
        filled = ((number, line) for number, line in enumerate(text, 1) if line.strip())
        while some := list(islice(filled, rows)):
            records = [formats.record(path, number, line) for number, line in some]
            yield Chunk(records, [f"line {number}" for number, _ in some], [line for _, line in some], binary.tell() / size)


def _check_names(path: Path, names: list[str]) -> None:
    """Each column must have a name of its own, or nobody could say which is meant."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} is there {names.count(name)} times; rename or drop the others")
