"""`bert-judge show`: what a file of a run is, where it came from, what its columns mean, and its first rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from bert_judge import tables
from bert_judge.cli.terminal import console
from bert_judge.runtime.errors import InputError

SHORT = 200


def show(path: Path, rows: int = 5, screen: Console | None = None) -> None:
    """Print what a file is.

    Args:
        path: a parquet table, a JSON summary, or the folder of a judge.
        rows: how many rows of a table to print.
        screen: where to; the terminal when left out.

    Raises:
        InputError: no such file, or none of these.
    """
    screen = screen or console()
    if path.is_dir():
        _show_judge(screen, path)
    elif path.suffix == ".json":
        screen.print(str(path))
        _show_values(screen, _json(path))
    else:
        _show_table(screen, path, rows)


def _show_table(screen: Console, path: Path, rows: int) -> None:
    origin = tables.provenance(path)
    with pq.ParquetFile(path) as file:
        columns, count = file.schema_arrow, file.metadata.num_rows
        first = next(file.iter_batches(batch_size=rows), None) if rows and count else None
    kind = f"{origin['schema']} table, version {origin['schema_version']}" if origin else "parquet file of another program"
    screen.print(f"{path}: {kind}, {count} rows")
    if origin:
        made = {"made": f"{origin['time']} by {origin['program']}", "revisions": origin["revisions"]}
        _show_values(screen, {**made, "spec": json.loads(origin["spec"])})
    screen.print("\ncolumns")
    _grid(screen, _columns(columns, origin))
    if first is not None:
        _show_rows(screen, first)


def _columns(columns: pa.Schema, origin: Mapping[str, Any]) -> list[list[str]]:
    known = {column.name: column for column in _schema(origin).columns} if origin else {}
    lines = []
    for name, kind in zip(columns.names, columns.types, strict=True):
        told = known[name].description if name in known else ""
        allowed = known[name].allowed if name in known else None
        lines.append([name, str(kind), f"{told}: {', '.join(allowed)}" if allowed else told])
    return lines


def _schema(origin: Mapping[str, Any]) -> tables.Schema:
    if origin["schema"] == "scores":
        return tables.scores_schema(json.loads(origin["spec"])["judges"])
    found = [value for value in vars(tables).values() if isinstance(value, tables.Schema) and value.name == origin["schema"]]
    return found[0] if found else tables.Schema(origin["schema"], origin["schema_version"], (), ())


def _show_rows(screen: Console, rows: pa.RecordBatch) -> None:
    """One block per row, a line per column: a table of long texts fits no terminal."""
    for number, row in enumerate(rows.to_pylist()):
        screen.print(f"\nrow {number}")
        _grid(screen, [[name, _short(value)] for name, value in row.items()])


def _short(value: object) -> str:
    if isinstance(value, list):
        value = " | ".join(map(str, value))
    text = "–" if value is None else str(value).replace("\n", "⏎")
    return text if len(text) <= SHORT else f"{text[:SHORT]}… ({len(text)} characters)"


def _show_judge(screen: Console, folder: Path) -> None:
    if not (folder / "judge.json").is_file():
        raise InputError(f"{folder}: no judge.json in it; name a table, a summary or the folder of a trained judge")
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
    _grid(screen, [[name, text] for name, text in _flat(values)])


def _flat(values: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as (dotted name, text); a list is one text."""
    if isinstance(values, Mapping) and values:
        for name, value in values.items():
            yield from _flat(value, f"{before}.{name}" if before else str(name))
    else:
        text = values if isinstance(values, str) else json.dumps(values, ensure_ascii=False)
        yield before, _short(text)


def _grid(screen: Console, lines: list[list[str]]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for line in lines:
        grid.add_row(*(["  " + line[0], *line[1:]]))
    screen.print(grid)
