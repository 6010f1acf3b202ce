"""The reader of parquet, tables of texts and JSON of any size: chunks of rows, with what is needed to write them unchanged."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self, TextIO

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, sheets
from bert_judge.tables.readers.containers import Container, no_rows, sniff, translate_errors
from bert_judge.tables.readers.limits import OBJECT_BYTES, batch_rows, iterate_batches

CHUNK_ROWS = 1024
# JSON rows whose keys count as the columns of the file.
HEADER_ROWS = 64
# Python's own limit for a CSV cell (128 KiB) is shorter than a long chain of thought. A line may hold many of them.
MAX_CELL_CHARACTERS, MAX_LINE_CHARACTERS = 2**22, 2**25
MAX_COLUMNS = 10_000

Record = Mapping[str, Any]
# Location in the file, for error messages ("row 3" or "line 3", counted from 1), and column → value.
LocatedRecord = tuple[str, Record]


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        records: column → value per row, null as None; in a CSV or Markdown file all values are texts, and an empty cell is null.
        locations: of each row in the file, for error messages.
        raw: the rows in the form in which they are written again: a record batch, lists of cells, or lines.
        fraction_read: of the file, 0 to 1.
        header: names of all columns of the file; empty for JSON, whose rows have keys of their own.
    """

    records: Sequence[Record]
    locations: list[str]
    raw: Any
    fraction_read: float
    header: Sequence[str] = ()

    def select(self, rows: Sequence[int]) -> Self:
        """Return some of the rows, by their positions in the chunk."""
        import pyarrow as pa

        records, locations = [self.records[row] for row in rows], [self.locations[row] for row in rows]
        raw = self.raw.take(pa.array(rows, pa.int64())) if isinstance(self.raw, pa.RecordBatch) else [self.raw[row] for row in rows]
        return replace(self, records=records, locations=locations, raw=raw)


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes:
        columns: names of its columns; for JSON, the keys of its first rows.
        sample: its first rows, at most `CHUNK_ROWS`.
    """

    container: Container
    columns: list[str]
    sample: list[Record]

    @property
    def path(self) -> Path:
        return self.container.path

    @property
    def format(self) -> str:
        return self.container.format

    @property
    def holds_texts(self) -> bool:
        """Whether lists and objects are written as texts, because its cells have no others."""
        return self.format in _TABLES

    def chunks(self, rows: int = CHUNK_ROWS, columns: Collection[str] | None = None) -> Iterator[Chunk]:
        """Read the rows in order, at most `rows` at a time.

        Args:
            columns: to read; all if omitted. A JSON row has them all, null where it lacks one.

        Raises:
            InputError: the file is damaged; preceding rows are yielded.
        """
        with translate_errors(self.path, self.format):
            yield from _READERS[self.format](self.container, rows, columns)

    def records(self, columns: Collection[str] | None = None) -> Iterator[LocatedRecord]:
        """Read the rows one by one, with their locations; see `chunks`."""
        for chunk in self.chunks(columns=columns):
            yield from zip(chunk.locations, chunk.records, strict=True)


def open_rows(path: Path, format: str | None = None, needed: Collection[str] = (), *, allow_duplicates: bool = False) -> RowFile:
    """Determine the format of a file and its columns, and read its first rows.

    Args:
        format: see `Container`; by the file's content if omitted.
        needed: columns to look for beyond the first rows of a JSON file. If given, only these must have unique names.
        allow_duplicates: no column needs a unique name; `Chunk.raw` has all of them.

    Raises:
        InputError: unknown format, unreadable file, no rows, or a duplicate column.
    """
    container = sniff(path, format)
    with translate_errors(path, container.format), closing(_READERS[container.format](container, CHUNK_ROWS, None)) as chunks:
        if (first := next(chunks, None)) is None:
            raise no_rows(path)
        columns = list(first.header) or _find_keys(chain([first], chunks), needed)
    if len(columns) > MAX_COLUMNS:
        raise InputError(f"{path}: has {len(columns):,} columns, limit {MAX_COLUMNS:,}; drop those that scoring does not need")
    counts = Counter(columns)
    for name in needed or filter(None, columns):
        if counts[name] > 1 and not allow_duplicates:
            raise InputError(f"{path}: the column {name!r} occurs {counts[name]} times; rename or drop the others")
    return RowFile(container, columns, list(first.records))


def _find_keys(chunks: Iterable[Chunk], needed: Collection[str]) -> list[str]:
    """Return the keys of the first rows, and of those up to the last of the needed keys."""
    keys: dict[str, None] = {}
    for number, record in enumerate(record for chunk in chunks for record in chunk.records):
        if len(keys) > MAX_COLUMNS or (number >= HEADER_ROWS and keys.keys() >= set(needed)):
            break
        keys.update(dict.fromkeys(record))
    return list(keys)


def parse_json_line(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the object in a line of a JSONL file. Raises InputError: the line is not a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(f"{path}: line {number} is not JSON ({reason}); write one JSON object per line") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: line {number} is a JSON {type(record).__name__}; write one JSON object per line")
    return record


# --- parquet ---


def _read_parquet(container: Container, rows: int, columns: Collection[str] | None) -> Generator[Chunk]:
    import pyarrow.parquet as pq

    start, total = 0, pq.read_metadata(container.path).num_rows
    for batch in iterate_batches(container.path, rows, None if columns is None else list(columns)):
        locations = [f"row {start + number}" for number in range(1, batch.num_rows + 1)]
        start += batch.num_rows
        yield Chunk(batch.to_pylist(), locations, batch, start / total, batch.schema.names)


# --- tables of texts ---

# Header, the rows that are not blank (each as wide as the header), and a function that returns the fraction that is read.
OpenTable = AbstractContextManager[tuple[list[str], Iterator[list[Any]], Callable[[], float]]]


class _Lines:
    """The lines of a text; remembers whether a line was requested after the last."""

    def __init__(self, path: Path, text: TextIO) -> None:
        self.path, self.text, self.exhausted = path, text, False

    def __iter__(self) -> Iterator[str]:
        yield from _read_lines(self.path, self.text)
        self.exhausted = True


def _read_lines(path: Path, text: TextIO) -> Iterator[str]:
    while line := text.readline(MAX_LINE_CHARACTERS + 1):
        if len(line) > MAX_LINE_CHARACTERS:
            raise InputError(f"{path}: a line has more than {MAX_LINE_CHARACTERS:,} characters; shorten its texts")
        yield line


@contextmanager
def _open_csv(container: Container) -> Iterator[tuple[list[str], Iterator[list[str]], Callable[[], float]]]:
    size = container.path.stat().st_size
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        with container.open_text("") as (text, file):
            lines = _Lines(container.path, text)
            # Not strict: blanks may follow a closing quote.
            reader = csv.reader(lines, delimiter=container.delimiter, skipinitialspace=container.skip_spaces)
            try:
                header = [name.strip() for name in next(filter(any, islice(reader, container.skipped_lines, None)), [])]
                yield header, _full_rows(container.path, reader, header, lines), lambda: file.tell() / size
            except csv.Error as error:
                raise InputError(f"{container.path}: broken CSV near line {reader.line_num}: {error}; fix the quotes") from error
    finally:
        csv.field_size_limit(limit)


def _full_rows(path: Path, reader: Any, header: Sequence[str], lines: _Lines) -> Iterator[list[str]]:
    width = len(header)
    named = max((number for number, name in enumerate(header, 1) if name), default=0)
    for row in reader:
        if lines.exhausted:
            # The reader asked for more in the middle of a row.
            raise csv.Error("a quote is not closed")
        if not any(row):
            continue
        if len(row) > width and not any(row[width:]):
            row = row[:width]
        if not named <= len(row) <= width:
            raise InputError(
                f"{path}: line {reader.line_num} has {len(row)} cells and the header {width}; quote cells with a delimiter"
            )
        yield row + [""] * (width - len(row))


@contextmanager
def _open_markdown(container: Container) -> Iterator[tuple[list[str], Iterator[list[str]], Callable[[], float]]]:
    with container.open_text("\n") as (text, _):
        header, rows = sheets.read_markdown(container.path, _read_lines(container.path, text))
    yield header, (cells for _, cells in rows), lambda: 1.0


@contextmanager
def _open_workbook(container: Container) -> Iterator[tuple[list[str], Iterator[list[Any]], Callable[[], float]]]:
    with sheets.open_workbook(container.path, read_only=True) as workbook:
        _, header, rows = sheets.read_workbook(workbook)
        yield header, (cells for _, cells in rows), lambda: 1.0


_TABLES: dict[str, Callable[[Container], OpenTable]] = {"csv": _open_csv, "markdown": _open_markdown, "xlsx": _open_workbook}


def _row_size(cells: Sequence[Any]) -> int:
    return sum(len(cell) for cell in cells if isinstance(cell, str)) + OBJECT_BYTES * len(cells)


def _read_table(container: Container, rows: int, columns: Collection[str] | None) -> Generator[Chunk]:
    start, parse = 0, sheets.parse_cell if container.format == "markdown" else lambda cell: cell
    with _TABLES[container.format](container) as (header, all_rows, fraction_read):
        position_by_name = {name: position for position, name in reversed([*enumerate(header)])}
        positions = [(name, position_by_name[name]) for name in (header if columns is None else columns)]
        for cells in batch_rows(all_rows, rows, _row_size):
            locations = [f"row {start + number}" for number in range(1, len(cells) + 1)]
            start += len(cells)
            records = [{name: None if row[at] in ("", None) else parse(row[at]) for name, at in positions} for row in cells]
            yield Chunk(records, locations, cells, fraction_read(), header)


# --- JSON ---


def _json_lines(container: Container) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield location, row and line."""
    with container.open_text("\n") as (text, _):
        for number, line in enumerate(_read_lines(container.path, text), 1):
            if line.strip():
                yield f"line {number}", parse_json_line(container.path, number, line), line


def _json_document(container: Container) -> Iterator[tuple[str, dict[str, Any], str]]:
    for location, value in json_documents.iterate_rows(container.path):
        if not isinstance(value, dict):
            raise InputError(f"{container.path}: {location} is a JSON {type(value).__name__}; write a list of objects")
        yield location, value, json.dumps(value, ensure_ascii=False)


_JSON_ROWS = {"jsonl": _json_lines, "json": _json_document}


def _read_json(container: Container, rows: int, columns: Collection[str] | None) -> Generator[Chunk]:
    size, num_read = container.path.stat().st_size, 0
    lines = _JSON_ROWS[container.format](container)
    for some in batch_rows(lines, rows, lambda line: len(line[2])):
        locations, records, raw = map(list, zip(*some, strict=True))
        if columns is not None:
            records = [{name: record.get(name) for name in columns} for record in records]
        # An overestimate for a compressed or re-encoded file.
        num_read += sum(map(len, raw))
        yield Chunk(records, locations, raw, min(1.0, num_read / size))


_READERS = {"parquet": _read_parquet, **dict.fromkeys(_TABLES, _read_table), **dict.fromkeys(_JSON_ROWS, _read_json)}
