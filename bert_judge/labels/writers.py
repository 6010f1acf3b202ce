"""Writers of a file's rows with new columns appended; the existing cells are written exactly as they were read."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import sheets
from bert_judge.tables.readers.rows import Chunk, RowFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# New column → a value per row, of the type for the end of its name, else a text; None is null.
NewColumns = Mapping[str, Sequence[Any]]
TYPES = {"score": "float64", "rank": "float64", "certain": "bool"}


@contextmanager
def open_writer(source: RowFile, path: Path, new: Sequence[str]) -> Iterator[Callable[[Chunk, NewColumns], None]]:
    """Open a file in the source's format; the value is a function that appends a chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if source.format == "parquet":
        with pq.ParquetFile(source.path) as file:
            schema = file.schema_arrow
        for name in new:
            schema = schema.append(
                pa.field(name, pa.type_for_alias(next((TYPES[end] for end in TYPES if name.endswith(end)), "string")))
            )
        with pq.ParquetWriter(path, schema, compression="zstd") as parquet:
            yield partial(_write_batch, parquet, schema)
        return
    if source.format == "xlsx":
        with _open_workbook(source.path, path, new) as write:
            yield write
        return
    is_csv = source.format == "csv"
    # Excel, which writes other encodings, needs a byte order mark to read UTF-8.
    encoding = "utf-8-sig" if is_csv and source.container.encoding != "utf-8" else "utf-8"
    with path.open("w", encoding=encoding, newline="") as text:
        if is_csv:
            rows = csv.writer(_LineFeedStream(text), delimiter=source.container.delimiter)
            rows.writerow([*source.columns, *new])
            yield partial(_write_rows, rows)
        elif source.format == "markdown":
            text.write(sheets.format_row([*source.columns, *new]))
            text.write(sheets.format_row(["---"] * (len(source.columns) + len(new))))
            yield partial(_write_markdown, text)
        else:
            yield partial(_write_lines, text, source.path)


def check_new_columns(path: Path, existing: Container[str], new: Iterable[str]) -> None:
    """Refuse names of new columns that a file, or one of its records, already has."""
    for name in new:
        if name in existing:
            raise InputError(
                f"{path}: already has a column {name!r}; add --prefix TEXT to put a text before the new columns' names"
            )


class _LineFeedStream:
    """Ends rows with a line feed. Not a setting of the CSV writer, which would then leave a carriage return in a cell unquoted."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, row: str) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


def _write_rows(rows: Any, chunk: Chunk, new: NewColumns) -> None:
    added = zip(*new.values(), strict=True)
    rows.writerows([*cells, *values] for cells, values in zip(chunk.raw, added, strict=True))


def _write_markdown(file: TextIO, chunk: Chunk, new: NewColumns) -> None:
    for cells, *values in zip(chunk.raw, *new.values(), strict=True):
        added = [sheets.format_cell("" if value is None else str(value)) for value in values]
        file.write(sheets.format_row([*cells, *added]))


@contextmanager
def _open_workbook(source: Path, path: Path, new: Sequence[str]) -> Iterator[Callable[[Chunk, NewColumns], None]]:
    """Write the new columns into the first sheet of a copy, which keeps formulas and the other sheets."""
    with sheets.open_workbook(source, read_only=False) as workbook, sheets.open_workbook(source, read_only=True) as values:
        sheet = workbook.worksheets[0]
        # The rows that were read: a formula without a result leaves a row blank there and not here.
        header_row, header, rows = sheets.read_workbook(values)
        first = max(sheet.max_column, len(header)) + 1
        for column, name in enumerate(new, first):
            sheet.cell(header_row, column, name)

        def write(chunk: Chunk, columns: NewColumns) -> None:
            # The cells come first, so that no row is read too many when the chunk ends.
            for cells, (number, _) in zip(zip(*columns.values(), strict=True), rows, strict=False):
                for column, value in enumerate(cells, first):
                    cell = sheet.cell(number, column, value)
                    if isinstance(value, str):
                        # A text that begins with = is no formula.
                        cell.data_type = "s"

        yield write
        workbook.save(path)


def _write_lines(file: TextIO, path: Path, chunk: Chunk, new: NewColumns) -> None:
    for record, line, *values in zip(chunk.records, chunk.raw, *new.values(), strict=True):
        check_new_columns(path, record, new)
        # The line is extended as text, so that numbers, keys and spaces stay exactly as they were.
        start = line.strip().removesuffix("}").rstrip()
        added = json.dumps(dict(zip(new, values, strict=True)), ensure_ascii=False)
        file.write(f"{start}{', ' if record else ''}{added[1:]}\n")


def _write_batch(parquet: pq.ParquetWriter, schema: pa.Schema, chunk: Chunk, new: NewColumns) -> None:
    import pyarrow as pa

    columns = [*chunk.raw.columns, *(pa.array(values, schema.field(name).type) for name, values in new.items())]
    parquet.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
