"""Read the score tables of a run one page at a time, with few rows in memory."""

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

ALL, SPLIT, INVALID = SHOW = ("all answers", "judges disagree", "undecided by a judge")
PAGE_ROWS = 20


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer with the verdict and score of each judge."""

    question: str
    references: list[str]
    candidate: str
    status: str
    verdicts: dict[str, tuple[str, float | None]]


@dataclass(frozen=True)
class AnswerPage:
    """One page of answers; `total` counts all that match."""

    judges: list[str]
    rows: list[JudgedAnswer]
    total: int


def list_score_tables(results: Path) -> dict[str, list[str]]:
    """Return model → tasks with a score table."""
    tasks: dict[str, list[str]] = {}
    for path in sorted(results.glob("scores/*/*.parquet")):
        tasks.setdefault(path.parent.name, []).append(path.stem)
    return tasks


def read_page(results: Path, model: str, task: str, show: str, search: str, first: int) -> AnswerPage:
    """Return one page of a score table.

    Args:
        show: one of `SHOW`.
        search: case-insensitive text in question, reference or answer; empty for all.
        first: index of the first matching row to return.

    Raises:
        InputError: the table is missing or damaged.
    """
    if task not in list_score_tables(results).get(model, []):
        raise InputError(f"{results}/scores/{model}/{task}.parquet: no such table; create it with snakemake --cores 2 scores")
    path = results / "scores" / model / f"{task}.parquet"
    judges = _judges(path)
    rows: list[JudgedAnswer] = []
    total = 0
    for batch in tables.read_batches(path, tables.scores_schema(judges), BATCH_ROWS):
        for record in batch[_matches(batch, judges, show, search.casefold())].to_dict("records"):
            if first <= total < first + PAGE_ROWS:
                rows.append(_row(record, judges))
            total += 1
    return AnswerPage(judges, rows, total)


def _judges(path: Path) -> list[str]:
    spec = json.loads(provenance(path).get("spec", "{}"))
    return list(spec.get("judges", []))


def _matches(batch: pd.DataFrame, judges: Sequence[str], show: str, search: str) -> pd.Series:
    verdicts = batch[[f"{judge}_verdict" for judge in judges]]
    matches = pd.Series(True, index=batch.index)
    if show == SPLIT:
        matches = (verdicts == "correct").any(axis=1) & (verdicts == "incorrect").any(axis=1)
    elif show == INVALID:
        matches = (verdicts == "invalid").any(axis=1)
    if search:
        texts = [batch["question"], batch["candidate"], batch["references"].map("\n".join)]
        contains = [column.str.casefold().str.contains(search, regex=False) for column in texts]
        matches &= contains[0] | contains[1] | contains[2]
    return matches


def _row(record: dict[Any, Any], judges: Sequence[str]) -> JudgedAnswer:
    verdicts = {judge: (record[f"{judge}_verdict"], None if pd.isna(record[judge]) else float(record[judge])) for judge in judges}
    return JudgedAnswer(record["question"], list(record["references"]), record["candidate"], record["status"], verdicts)
