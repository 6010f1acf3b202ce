"""`bert-judge show`: print a table of a run."""

import json
from pathlib import Path
from typing import Annotated, Any

import pyarrow.parquet as pq
import typer

from bert_judge import tables
from bert_judge.cli.terminal import echo
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import InputError


def show(
    file: Annotated[Path, typer.Argument(help="Table of a run.")],
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="Number of rows to print.")] = 5,
) -> None:
    """Print what a table of a run is, the settings that produced it, its columns and its first rows."""
    if file.is_dir():
        raise InputError(f"{file}: is a folder; name a table in it")
    if file.suffix.lower() != ".parquet" and config_files.is_table(file):
        raise InputError(f"{file}: show reads the tables of a run (.parquet); bert-judge score {file} judges a file of answers")
    provenance = tables.provenance(file)
    kind = f"{provenance['schema']} table, version {provenance['schema_version']}" if provenance else "not of this program"
    echo(f"{file}: {kind}, {tables.count(file):,} rows")
    if provenance:
        echo(_to_json({**provenance, "spec": json.loads(provenance["spec"])}))
    descriptions = {column.name: column.description for column in _schema(provenance).columns} if provenance else {}
    with pq.ParquetFile(file) as table:
        for column in table.schema_arrow:
            echo(f"{column.name} ({column.type}) {descriptions.get(column.name, '')}".rstrip())
        first = next(table.iter_batches(batch_size=rows), None) if rows else None
    for row in first.to_pylist() if first is not None else []:
        echo(_to_json(row))


def _schema(provenance: dict[str, Any]) -> tables.Schema:
    if provenance["schema"] == "scores":
        return tables.scores_schema(json.loads(provenance["spec"])["judges"])
    return tables.SCHEMAS[provenance["schema"]]


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
