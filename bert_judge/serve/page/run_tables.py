"""The score tables of a run, a screenful at a time: of a table however long, few rows are in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.score_tables import BATCH_ROWS
from bert_judge.runtime.errors import InputError
from bert_judge.tables import provenance

ALL, SPLIT, INVALID = SHOW = ("all answers", "judges disagree", "a judge could not tell")
SCREEN_ROWS = 20


@dataclass(frozen=True)
class Scored:
    """An answer with what each judge says of it: verdict and score."""

    question: str
    references: list[str]
    candidate: str
    status: str
    said: dict[str, tuple[str, float | None]]


@dataclass(frozen=True)
class Screen:
    """Attributes: judges: of the table. rows: that are shown. found: how many there are to show in all."""

    judges: list[str]
    rows: list[Scored]
    found: int


def scored(results: Path) -> dict[str, list[str]]:
    """Model → its tasks, of the score tables that are there."""
    found: dict[str, list[str]] = {}
    for path in sorted(results.glob("scores/*/*.parquet")):
        found.setdefault(path.parent.name, []).append(path.stem)
    return found


def screen(results: Path, model: str, task: str, show: str, search: str, first: int) -> Screen:
    """Rows of a score table.

    Args:
        show: one of `SHOW`.
        search: a text that question, reference or answer must hold, in any case; empty: none.
        first: of the rows to show, the first one wanted, from 0.

    Raises:
        InputError: no such table, or it is damaged.
    """
    if task not in scored(results).get(model, []):
        raise InputError(f"{results}/scores/{model}/{task}.parquet: no such table; make it with snakemake --cores 2 scores")
    path = results / "scores" / model / f"{task}.parquet"
    judges = _judges(path)
    rows: list[Scored] = []
    found = 0
    for batch in tables.read_batches(path, tables.scores_schema(judges), BATCH_ROWS):
        for record in batch[_wanted(batch, judges, show, search.casefold())].to_dict("records"):
            if first <= found < first + SCREEN_ROWS:
                rows.append(_row(record, judges))
            found += 1
    return Screen(judges, rows, found)


def _judges(path: Path) -> list[str]:

    spec = json.loads(provenance(path).get("spec", "{}"))
    return list(spec.get("judges", []))


def _wanted(batch: pd.DataFrame, judges: Sequence[str], show: str, search: str) -> pd.Series:
    said = batch[[f"{judge}_verdict" for judge in judges]]
    wanted = pd.Series(True, index=batch.index)
    if show == SPLIT:
        wanted = (said == "correct").any(axis=1) & (said == "incorrect").any(axis=1)
    elif show == INVALID:
        wanted = (said == "invalid").any(axis=1)
    if search:
        texts = [batch["question"], batch["candidate"], batch["references"].map("\n".join)]
        holds = [column.str.casefold().str.contains(search, regex=False) for column in texts]
        wanted &= holds[0] | holds[1] | holds[2]
    return wanted


def _row(record: dict[Any, Any], judges: Sequence[str]) -> Scored:
    said = {judge: (record[f"{judge}_verdict"], None if pd.isna(record[judge]) else float(record[judge])) for judge in judges}
    return Scored(record["question"], list(record["references"]), record["candidate"], record["status"], said)
