"""Plain rows of answers: the form into which the files of all frameworks are converted, and its writers."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge import tables
from bert_judge.runtime.errors import InputError

CHUNK_ROWS = 1024
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("references", pa.list_(pa.string())),
        ("candidate", pa.string()),
        ("model", pa.string()),
        ("task", pa.string()),
        ("label", pa.float64()),
        ("id", pa.string()),
        ("attempt", pa.int32()),
    ]
)
Rows = Sequence[Mapping[str, Any]]


def write_rows(output: Path, rows: Iterator[Mapping[str, Any]], schema: pa.Schema, error: Callable[[], InputError]) -> int:
    """Write rows in chunks and return their number; raise an error if there are none."""
    count = 0
    with tables.atomic(output) as temporary:
        with open_row_writer(output, temporary, schema) as write:
            while chunk := list(islice(rows, CHUNK_ROWS)):
                write(chunk)
                count += len(chunk)
        if not count:
            raise error()
    return count


def open_row_writer(output: Path, temporary: Path, schema: pa.Schema = SCHEMA) -> Any:
    """Return the writer for an output's suffix: a context manager that yields a function that writes rows of the schema."""
    writers: dict[str, Callable[[Path, pa.Schema], Any]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    if output.suffix.lower() not in writers:
        raise InputError(f"{output}: let its name end in {', '.join(writers)}")
    return writers[output.suffix.lower()](temporary, schema)


@contextmanager
def _jsonl(path: Path, _: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda rows: file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv_writer = csv.writer(file)
        csv_writer.writerow(schema.names)
        yield lambda rows: csv_writer.writerows([_cell(row[name]) for name in schema.names] for row in rows)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple | list) else value


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        yield lambda rows: file.write_table(pa.Table.from_pylist(list(rows), schema))
