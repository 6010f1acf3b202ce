"""A large table of answers, judged in parts by jobs that run side by side, and joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import BATCH_ROWS, label_table
from bert_judge.runtime.errors import InputError


def listed(folder: str | Path, table: str | Path, wanted: int) -> list[str]:
    """Paths of the parts that a table of verdicts is joined from; none for one that is judged whole.

    What is there decides before what is wanted: a table that was judged whole stays so, and one joined from parts keeps their
    number. So a changed number makes no finished table stale.

    Args:
        folder: where the parts lie, or will.
        table: the table of verdicts.
        wanted: number of parts of a table that is yet to be made.
    """
    made = [int(path.stem.rpartition("-")[2]) for path in Path(folder).glob("*-of-*.parquet")]
    count = max(made, default=1 if Path(table).exists() else wanted)
    return [str(Path(folder, f"{number}-of-{count}.parquet")) for number in range(1, count + 1)] if count > 1 else []


def label_part(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    judge: Judge,
    part: str,
    work_folder: str | Path | None = None,
) -> None:
    """Judge one part of a candidates table, rows that lie next to each other.

    Args:
        spec: of the whole table of verdicts.
        part: `2-of-4`, for example.

    Raises:
        InputError: the candidates cannot be read, or the judge refuses its input.
    """
    number, count = map(int, part.split("-of-"))
    total = tables.count(candidates)
    rows = range(total * (number - 1) // count, total * number // count)
    label_table({**spec, "part": part}, candidates, output, judge, work_folder, rows=rows)


def join(spec: Mapping[str, Any], candidates: str | Path, parts: Sequence[str | Path], output: str | Path) -> None:
    """Write the table of verdicts that its parts make up: the one that a single job would have written.

    Raises:
        InputError: a part was made with other settings or lacks rows.
    """
    revisions: dict[str, str] = {}
    for path in map(Path, parts):
        made = tables.provenance(path)
        if made.get("spec") != tables.canonical({**spec, "part": path.stem}):
            raise InputError(f"{path}: made with other settings than its table asks for; delete it, and the next run makes it anew")
        revisions |= made.get("revisions", {})
    if (found := sum(map(tables.count, parts))) != (asked := tables.count(candidates)):
        raise InputError(
            f"{Path(parts[0]).parent}: the parts hold {found} verdicts on the {asked} answers of {candidates}; delete them"
        )
    tables.write_parts(_frames(parts), output, tables.LABELS, spec, revisions)


def _frames(parts: Sequence[str | Path]) -> Iterator[pd.DataFrame]:
    for path in parts:
        yield from tables.read_batches(path, tables.LABELS, BATCH_ROWS)
