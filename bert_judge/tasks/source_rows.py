"""The rows of a data set's files, one after the other: parquet, JSONL and CSV, of any size."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats

BATCH_ROWS = 1000
# `.json` files of the hub hold one object per line, too.
FORMATS = {**formats.ENDINGS, ".json": "jsonl"}

PlacedRow = tuple[str, dict[str, Any]]


def read(files: Sequence[Path], names: Collection[str], lists: Collection[str] = ()) -> Iterator[PlacedRow]:
    """Read some columns of files that belong together.

    Args:
        names: columns; `a.b` is the member `b` of column `a`, which is then read whole.
        lists: those of them that hold lists, which CSV files write as JSON.

    Yields:
        (place, row): "train.parquet: row 3", and the row by the names of the file's own columns.

    Raises:
        InputError: a file cannot be read, or lacks a column.
    """
    for path in files:
        if (format := FORMATS.get(path.suffix.lower())) is None:
            raise InputError(f"{path}: the ending tells no format; give a file that ends in {', '.join(FORMATS)}")
        if format == "parquet":
            yield from _parquet(path, names)
        else:
            yield from _whole_file(path, format, names, lists if format == "csv" else ())


def parquet_rows(stream: Path | IO[bytes], name: str, names: Collection[str]) -> Iterator[PlacedRow]:
    """The rows of a parquet file, read batch by batch.

    Args:
        stream: the file, or a file object of anything that can seek.
        name: of the file, for messages.
    """
    try:
        file = pq.ParquetFile(stream)
        tops = _tops(name, file.schema_arrow.names, names)
        number = 0
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=tops):
            for row in batch.to_pylist():
                number += 1
                yield f"{name}: row {number}", row
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{name}: not a readable parquet file: {' '.join(str(error).split())}") from error


def _parquet(path: Path, names: Collection[str]) -> Iterator[PlacedRow]:
    yield from parquet_rows(path, str(path), names)


def _whole_file(path: Path, format: str, names: Collection[str], lists: Collection[str]) -> Iterator[PlacedRow]:
    columns = formats.read(path, format, {*names, *(name.split(".")[0] for name in names)})
    tops = _tops(str(path), columns.present, names)
    for at, place in enumerate(columns.places):
        row = {name: columns.values[name][at] for name in tops}
        yield f"{path}: {place}", {name: _json_list(value) if name in lists else value for name, value in row.items()}


def _tops(file: str, present: Sequence[str], names: Collection[str]) -> list[str]:
    """The file's own columns that hold the named ones."""
    tops = dict.fromkeys(name if name in present else name.split(".")[0] for name in names)
    if missing := [name for name in tops if name not in present]:
        there = ", ".join(map(repr, present))
        raise InputError(f"{file}: no column {missing[0]!r}; there are {there}; mend the source's columns or where")
    return list(tops)


def _json_list(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        # A text that only looks like a list, "[1, 2)" for example.
        return value
