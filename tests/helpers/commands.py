"""Calls of the commands, and the files of answers that they read and write."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from bert_judge.cli import app


def run(*arguments: object, stdin: str | None = None) -> Result:
    """Run `bert-judge` with these arguments."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write a file of answers, in the format of its name; lists in a CSV file as JSON."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(rows[0])
            lines.writerows([json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v for v in row.values()] for row in rows)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, those of a CSV file as texts."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
