"""Shards of a large label table: rows that parallel jobs label and another job joins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import BATCH_ROWS, label_table
from bert_judge.runtime.errors import InputError


def shard_paths(folder: str | Path, table: str | Path, num_shards: int) -> list[str]:
    """Return the paths of the shards that a label table is joined from; none for a table that one job labels.

    Existing files take precedence over the configuration: a finished table stays as it is, and one that was joined keeps its number
    of shards, so that a changed number makes no table stale.

    Args:
        folder: of the shards.
        table: the label table.
        num_shards: for a table that does not exist yet.
    """
    existing = [int(path.stem.rpartition("-")[2]) for path in Path(folder).glob("*-of-*.parquet")]
    count = max(existing, default=1 if Path(table).exists() else num_shards)
    return [str(Path(folder, f"{number}-of-{count}.parquet")) for number in range(1, count + 1)] if count > 1 else []


def label_shard(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    judge: Judge,
    shard: str,
    work_folder: str | Path | None = None,
) -> None:
    """Label consecutive rows of a candidate table.

    Args:
        spec: of the whole label table.
        shard: `2-of-4`, for example.

    Raises:
        InputError: the candidates cannot be read, or the judge refuses its input.
    """
    number, count = map(int, shard.split("-of-"))
    total = tables.count(candidates)
    rows = range(total * (number - 1) // count, total * number // count)
    label_table({**spec, "shard": shard}, candidates, output, judge, work_folder, rows=rows)


def join_shards(spec: Mapping[str, Any], candidates: str | Path, shards: Sequence[str | Path], output: str | Path) -> None:
    """Join the shards of a label table; the result equals the table of a single job.

    Raises:
        InputError: a shard was made with other settings, or rows are missing.
    """
    revisions: dict[str, str] = {}
    for path in map(Path, shards):
        provenance = tables.provenance(path)
        if provenance.get("spec") != tables.canonical({**spec, "shard": path.stem}):
            raise InputError(f"{path}: made with other settings than its table needs; delete it and run again")
        revisions |= provenance.get("revisions", {})
    if (labels := sum(map(tables.count, shards))) != (answers := tables.count(candidates)):
        folder = Path(shards[0]).parent
        raise InputError(f"{folder}: the shards hold {labels} labels of the {answers} answers of {candidates}; delete them")
    tables.write_parts(_read_shards(shards), output, tables.LABELS, spec, revisions)


def _read_shards(paths: Sequence[str | Path]) -> Iterator[pd.DataFrame]:
    for path in paths:
        yield from tables.read_batches(path, tables.LABELS, BATCH_ROWS)
