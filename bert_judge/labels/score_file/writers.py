"""The rows of a file once more, with new columns behind theirs. What was there is written as it was read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.streams import Chunk, RowFile

# New column → a value per row: texts, or numbers where the name ends in `score`; None is null.
New = Mapping[str, Sequence[Any]]


class Writer(Protocol):
    """Writes chunks one after the other into a file that it opens itself."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *failure: Any) -> None: ...
    def write(self, chunk: Chunk, new: New) -> None: ...


def writer(source: RowFile, path: Path, new: Sequence[str]) -> Writer:
    """A writer of the source's rows in the source's format.

    Args:
        new: names of the columns that are added; see `check_new`.
    """
    kinds: Mapping[str, Callable[[RowFile, Path, list[str]], Writer]] = {"csv": _CSV, "jsonl": _JSONL, "parquet": _Parquet}
    return kinds[source.format](source, path, list(new))


def check_new(source: RowFile, new: Sequence[str]) -> None:
    """Refuse names of new columns that the source has already.

    Raises:
        InputError: names the first of them.
    """
    for name in new:
        if name in source.columns:
            raise taken(source.path, name)


def taken(path: Path, name: str) -> InputError:
    """The fault of a file that has a column of the name that a new one would get."""
    return InputError(f"{path}: has a column {name!r} already; add --prefix TEXT to put a text before the new columns' names")


class _Text:
    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        self.source, self.new = source, new
        self.file = path.open("w", encoding="utf-8", newline="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()


class _LineEnds:
    """Ends rows with a line feed alone. The writer must not know: it would then leave a carriage return in a cell unquoted."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, row: str) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


class _CSV(_Text):
    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        super().__init__(source, path, new)
        self.rows = csv.writer(_LineEnds(self.file))
        self.rows.writerow([*source.columns, *new])

    def write(self, chunk: Chunk, new: New) -> None:
        added = zip(*new.values(), strict=True)
        self.rows.writerows([*cells, *more] for cells, more in zip(chunk.raw, added, strict=True))


class _JSONL(_Text):
    def write(self, chunk: Chunk, new: New) -> None:
        for record, line, *values in zip(chunk.records, chunk.raw, *new.values(), strict=True):
            for name in new:
                if name in record:
                    raise taken(self.source.path, name)
            # The line itself is kept, so that no number, key or space of it is written another way.
            kept = line.strip().removesuffix("}").rstrip()
            added = json.dumps(dict(zip(new, values, strict=True)), ensure_ascii=False)
            self.file.write(f"{kept}{', ' if record else ''}{added[1:]}\n")


class _Parquet:
    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        with pq.ParquetFile(source.path) as file:
            schema = file.schema_arrow
        for name in new:
            schema = schema.append(pa.field(name, pa.float64() if name.endswith("score") else pa.string()))
        self.schema = schema
        self.file = pq.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: Any) -> None:
        self.file.close()

    def write(self, chunk: Chunk, new: New) -> None:
        columns = [*chunk.raw.columns, *(pa.array(values, self.schema.field(name).type) for name, values in new.items())]
        self.file.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
