"""Writers of a file's rows with new columns appended; the existing cells are written exactly as they were read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import Chunk, RowFile

# New column → a value per row: texts, or numbers if the name ends in `score`; None is null.
NewColumns = Mapping[str, Sequence[Any]]


class Writer(Protocol):
    """Appends chunks to a file that it opens itself."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...
    def write(self, chunk: Chunk, new: NewColumns) -> None: ...


def open_writer(source: RowFile, path: Path, new: Sequence[str]) -> Writer:
    """Return a writer of the source's rows in the source's format."""
    writers: Mapping[str, Callable[[RowFile, Path, list[str]], Writer]] = {
        "csv": _CSVWriter,
        "jsonl": _JSONLWriter,
        "json": _JSONLWriter,
        "parquet": _ParquetWriter,
    }
    return writers[source.format](source, path, list(new))


def check_new_columns(source: RowFile, new: Sequence[str]) -> None:
    """Refuse names of new columns that the source already has."""
    for name in new:
        if name in source.columns:
            raise _duplicate_column(source.path, name)


def _duplicate_column(path: Path, name: str) -> InputError:
    return InputError(f"{path}: already has a column {name!r}; add --prefix TEXT to put a text before the new columns' names")


class _TextWriter:
    encoding = "utf-8"

    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        self.source, self.new = source, new
        self.file = path.open("w", encoding=self.encoding, newline="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()


class _LineFeedStream:
    """Ends rows with a line feed. Not a setting of the CSV writer, which would then leave a carriage return in a cell unquoted."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, row: str) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


class _CSVWriter(_TextWriter):
    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        # Excel, which writes other encodings, needs a byte order mark to read UTF-8.
        self.encoding = "utf-8" if source.container.encoding == "utf-8" else "utf-8-sig"
        super().__init__(source, path, new)
        self.rows = csv.writer(_LineFeedStream(self.file), delimiter=source.container.delimiter)
        self.rows.writerow([*source.columns, *new])

    def write(self, chunk: Chunk, new: NewColumns) -> None:
        added = zip(*new.values(), strict=True)
        self.rows.writerows([*cells, *values] for cells, values in zip(chunk.raw, added, strict=True))


class _JSONLWriter(_TextWriter):
    def write(self, chunk: Chunk, new: NewColumns) -> None:
        for record, line, *values in zip(chunk.records, chunk.raw, *new.values(), strict=True):
            for name in new:
                if name in record:
                    raise _duplicate_column(self.source.path, name)
            # The line is extended as text, so that numbers, keys and spaces stay exactly as they were.
            start = line.strip().removesuffix("}").rstrip()
            added = json.dumps(dict(zip(new, values, strict=True)), ensure_ascii=False)
            self.file.write(f"{start}{', ' if record else ''}{added[1:]}\n")


class _ParquetWriter:
    def __init__(self, source: RowFile, path: Path, new: list[str]) -> None:
        with pq.ParquetFile(source.path) as file:
            schema = file.schema_arrow
        for name in new:
            schema = schema.append(pa.field(name, pa.float64() if name.endswith("score") else pa.string()))
        self.schema = schema
        self.file = pq.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()

    def write(self, chunk: Chunk, new: NewColumns) -> None:
        columns = [*chunk.raw.columns, *(pa.array(values, self.schema.field(name).type) for name, values in new.items())]
        self.file.write_batch(pa.RecordBatch.from_arrays(columns, schema=self.schema))
