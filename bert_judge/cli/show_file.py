"""`bert-judge show`: print what a file is, the settings that produced it, its columns and its first rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from bert_judge import tables
from bert_judge.cli.terminal import console
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows

MAX_TEXT_LENGTH = 200


def show(
    file: Annotated[
        Path, typer.Argument(help="Table, file of answers (CSV, JSON lines), summary (.json) or folder of a trained judge.")
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="Number of rows to print.")] = 5,
) -> None:
    """Print what a file of a run is, the settings that produced it, its columns and its first rows."""
    screen = console()
    if file.is_dir():
        _show_judge(screen, file)
    elif file.suffix == ".json":
        screen.print(str(file))
        _show_values(screen, _json(file))
    elif file.suffix != ".parquet" and (source := open_rows(file)).format != "parquet":
        screen.print(f"{file}: {source.format} file with the columns {', '.join(map(repr, source.columns))}")
        _show_rows(screen, source.sample(rows) if rows else [])
    else:
        _show_table(screen, file, rows)


def _show_table(screen: Console, path: Path, rows: int) -> None:
    provenance = tables.provenance(path)
    with pq.ParquetFile(path) as file:
        columns, count = file.schema_arrow, file.metadata.num_rows
        first = next(file.iter_batches(batch_size=rows), None) if rows and count else None
    kind = (
        f"{provenance['schema']} table, version {provenance['schema_version']}" if provenance else "parquet file of another program"
    )
    screen.print(f"{path}: {kind}, {count} rows")
    if provenance:
        created = {"made": f"{provenance['time']} by {provenance['program']}", "revisions": provenance["revisions"]}
        _show_values(screen, {**created, "spec": json.loads(provenance["spec"])})
    screen.print("\ncolumns")
    _grid(screen, _columns(columns, provenance))
    if first is not None:
        _show_rows(screen, first.to_pylist())


def _columns(columns: pa.Schema, provenance: Mapping[str, Any]) -> list[list[str]]:
    columns_by_name = {column.name: column for column in _schema(provenance).columns} if provenance else {}
    lines = []
    for name, kind in zip(columns.names, columns.types, strict=True):
        description = columns_by_name[name].description if name in columns_by_name else ""
        allowed = columns_by_name[name].allowed if name in columns_by_name else None
        lines.append([name, str(kind), f"{description}: {', '.join(allowed)}" if allowed else description])
    return lines


def _schema(provenance: Mapping[str, Any]) -> tables.Schema:
    if provenance["schema"] == "scores":
        return tables.scores_schema(json.loads(provenance["spec"])["judges"])
    schemas = [value for value in vars(tables).values() if isinstance(value, tables.Schema) and value.name == provenance["schema"]]
    return schemas[0] if schemas else tables.Schema(provenance["schema"], provenance["schema_version"], (), ())


def _show_rows(screen: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one block per row and one line per column, because long texts do not fit a table."""
    for number, row in enumerate(rows):
        screen.print(f"\nrow {number}")
        _grid(screen, [[name, _shorten(value)] for name, value in row.items()])


def _shorten(value: object) -> str:
    if isinstance(value, list):
        value = " | ".join(map(str, value))
    text = "–" if value is None else str(value).replace("\n", "⏎")
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}… ({len(text)} characters)"


def _show_judge(screen: Console, folder: Path) -> None:
    if not (folder / "judge.json").is_file():
        raise InputError(f"{folder}: contains no judge.json; give a table, a summary or the folder of a trained judge")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    screen.print(f"{folder}: trained judge, {size / 1e6:.1f} MB")
    _show_values(screen, _json(folder / "judge.json"))
    for name in ("metrics.json", "summary.json"):
        if (folder / name).is_file():
            screen.print(f"\n{name}")
            _show_values(screen, _json(folder / name))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not JSON: {' '.join(str(error).split())}") from error


def _show_values(screen: Console, values: Any) -> None:
    _grid(screen, [[name, text] for name, text in _flatten(values)])


def _flatten(values: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested values as (dotted name, text); a list is one text."""
    if isinstance(values, Mapping) and values:
        for name, value in values.items():
            yield from _flatten(value, f"{prefix}.{name}" if prefix else str(name))
    else:
        text = values if isinstance(values, str) else json.dumps(values, ensure_ascii=False)
        yield prefix, _shorten(text)


def _grid(screen: Console, lines: list[list[str]]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for line in lines:
        grid.add_row(*(["  " + line[0], *line[1:]]))
    screen.print(grid)
