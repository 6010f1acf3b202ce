"""How long finished tables took, by Snakemake's benchmark files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from bert_judge.runtime.errors import InputError


def of_tables(root: Path, tables: Iterable[Path]) -> list[tuple[float, int]]:
    """Seconds and rows of the tables whose jobs were measured."""
    return [(seconds, rows_of(path)) for path in tables if (seconds := of_table(root, path)) is not None]


def of_table(root: Path, table: Path) -> float | None:
    """Seconds of the job that wrote a table, and its share, by rows, of the job that judged it together with others.

    Of a table that was judged anew since, by itself, both count.

    Args:
        root: folder of the results.
        table: a table in it.

    Returns:
        None where one of them was not measured.
    """
    place = table.relative_to(root)
    own = seconds_of(root / "benchmarks" / place.with_suffix(".tsv"))
    batch = _batch_of(root, place) if place.parts[0] == "labels" else None
    if own is None or batch is None:
        return own
    together = seconds_of(root / "benchmarks" / batch.relative_to(root).with_suffix(".tsv"))
    tables = [table.with_name(f"{task}.parquet") for task in _tasks(batch)]
    rows = sum(rows_of(path) for path in tables if path.exists())
    return None if together is None or not rows else own + together * rows_of(table) / rows


def _batch_of(root: Path, place: Path) -> Path | None:
    """The newest note of a job that judged labels/{judge}/{model}/{task}.parquet together with others."""
    _, judge, model, name = place.parts
    notes = (root / "label_batches" / judge / model).glob("*.json")
    return max((note for note in notes if Path(name).stem in _tasks(note)), key=lambda note: note.stat().st_mtime, default=None)


def _tasks(note: Path) -> list[str]:
    return list(json.loads(note.read_text("utf-8"))["parts"])


def of_batches(root: Path, model: str) -> list[tuple[float, int]]:
    """Seconds and rows of the jobs that answered for several tables at once."""
    found = []
    for note in sorted((root / "answer_batches" / model).glob("*.json")):
        seconds = seconds_of(root / "benchmarks" / "answer_batches" / model / f"{note.stem}.tsv")
        paths = [root / "candidates" / model / f"{task}.parquet" for task in _tasks(note)]
        if seconds is not None and all(path.exists() for path in paths):
            found.append((seconds, sum(map(rows_of, paths))))
    return found


def seconds_of(file: Path) -> float | None:
    """Of a benchmark file of Snakemake; None when there is none, or it holds no time."""
    try:
        frame = pd.read_csv(file, sep="\t")
    except (FileNotFoundError, pd.errors.EmptyDataError, pd.errors.ParserError):
        return None
    seconds = pd.to_numeric(frame["s"], errors="coerce").sum(min_count=1) if "s" in frame else float("nan")
    return None if pd.isna(seconds) else float(seconds)


def rows_of(path: Path) -> int:
    """Rows of a table, told from its footer."""
    try:
        return pq.read_metadata(path).num_rows
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a table; delete it and run again") from error
