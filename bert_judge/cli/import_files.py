"""`bert-judge import`: convert other frameworks' files of answers to plain rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from bert_judge import tables
from bert_judge.candidates.importers import column_names, frameworks
from bert_judge.candidates.importers.answers import Answer, make_column_reader
from bert_judge.candidates.importers.companion_files import CompanionFiles
from bert_judge.candidates.importers.frameworks import FRAMEWORKS, ImportStats
from bert_judge.candidates.importers.suspicious_input import find_suspicious_input
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows

ROWS = "rows"
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


@dataclass(frozen=True)
class Request:
    """Options of the command; see `commands.import_`."""

    files: Sequence[Path]
    output: Path
    format: str | None = None
    references: Path | None = None
    requests: Path | None = None
    scores: Path | None = None
    model: str | None = None
    task: str | None = None
    force: bool = False


def import_files(request: Request) -> None:
    """Write the answers of the files and print their number.

    Raises:
        InputError: a file cannot be read or has no model name, or the output exists; nothing is written.
    """
    check(request)
    output, stats = request.output, ImportStats()
    with tables.atomic(output) as temporary:
        with writer(output, temporary) as write:
            rows = (row for path in request.files for row in _rows(path, request, stats))
            while chunk := list(islice(rows, CHUNK_ROWS)):
                write(chunk)
        if not stats.answers:
            raise frameworks.no_answers_error(request.files[0], stats)
    typer.echo(f"{output}: {stats.answers:,} answers")


def check(request: Request) -> None:
    """Check the format and the output path.

    Raises:
        InputError: the output exists or is an input file, or the format is unknown.
    """
    output = request.output
    if output.exists() and not request.force:
        raise InputError(f"{output}: exists already; add --force to overwrite it, or choose another with -o")
    if request.format not in (None, ROWS, *FRAMEWORKS):
        raise InputError(f"--format {request.format}: unknown; there are {', '.join(FRAMEWORKS)} and {ROWS}")
    if any(path.resolve() == output.resolve() for path in request.files):
        raise InputError(f"{output}: is an input file; choose another with -o")


def convert_to_rows(path: Path, format: str, output: Path) -> None:
    """Write the answers of one file as JSONL; a missing model name is allowed."""
    stats = ImportStats()
    with tables.atomic(output) as temporary:
        with _jsonl(temporary) as write:
            rows = (asdict(answer) for _, answer in _answers(path, Request([path], output, format), stats))
            while chunk := list(islice(rows, CHUNK_ROWS)):
                write(chunk)
        if not stats.answers:
            raise frameworks.no_answers_error(path, stats)


def read_answers(path: Path) -> Iterator[Answer]:
    """Return the answers of a file in any supported format, without reporting skipped rows."""
    return (answer for _, answer in _answers(path, Request([path], path), ImportStats()))


def _rows(path: Path, request: Request, total: ImportStats) -> Iterator[dict[str, Any]]:
    stats = ImportStats()
    for location, answer in _answers(path, request, stats):
        row = asdict(answer)
        row["model"] = request.model or row["model"]
        row["task"] = request.task or row["task"]
        if not row["model"]:
            raise InputError(f"{path}: {location}: the file has no model name; set --model NAME")
        yield row
    total.answers += stats.answers
    total.skipped += stats.skipped
    total.unreadable += stats.unreadable
    for line in stats.describe_losses():
        typer.echo(f"{path}: {line}", err=True)


def _answers(path: Path, request: Request, stats: ImportStats) -> Iterator[tuple[str, Answer]]:
    """Yield location and answer of a file in any supported format."""
    format = request.format or frameworks.detect(path)
    if format in (None, ROWS):
        source = open_rows(path)
        sample = source.sample()
        columns = column_names.detect_columns(path, source.columns, {}, sample=sample)
        reader = make_column_reader(columns, source.format == "csv", sample)
        for line in find_suspicious_input(sample, reader):
            typer.echo(f"{path}: warning: {line}", err=True)
        yield from frameworks.read_answers(reader, source.records(), stats)
        return
    assert format is not None
    kind, companions = FRAMEWORKS[format], CompanionFiles(request.references, request.requests, request.scores)
    yield from frameworks.read_answers(kind.make_reader(path, companions), kind.records(path, companions), stats)


def writer(output: Path, temporary: Path, schema: pa.Schema = SCHEMA) -> Any:
    """Return the writer for an output's suffix: a context manager that yields a function that writes rows of the schema."""
    writers: dict[str, Callable[[Path, pa.Schema], Any]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    if output.suffix.lower() not in writers:
        raise InputError(f"{output}: let its name end in {', '.join(writers)}")
    return writers[output.suffix.lower()](temporary, schema)


@contextmanager
def _jsonl(path: Path, _: pa.Schema = SCHEMA) -> Iterator[Callable[[Rows], None]]:
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
