"""The answer: places with their doubt, and which model is better than which for sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.report.format import known
from bert_judge.runtime.bootstrap import CONFIDENCE

# A matrix of more models is no longer read; their table stays.
MOST_IN_MATRIX = 40
# Columns of whole numbers, which pandas makes fractions of where one is null.
PLACES = {"rank", "rank_low", "rank_high", "rank_reference", "rank_shift"}


@dataclass(frozen=True)
class Place:
    """One model: its row of the standings, and the models that are surely worse and surely better."""

    model: str
    row: dict[str, Any]
    worse: list[str]
    better: list[str]


@dataclass(frozen=True)
class Answer:
    """Places under one judge, best first; `cells` holds (model, other) → comparison, the better one first.

    Attributes:
        detectable: median over the pairs of the smallest difference that would be found; None where unknown.
    """

    title: str
    judge: str
    places: list[Place]
    cells: Mapping[tuple[str, str], dict[str, Any]]
    detectable: float | None

    @property
    def matrix(self) -> bool:
        return 1 < len(self.places) <= MOST_IN_MATRIX


def answers(standings: pd.DataFrame, pairs: pd.DataFrame, judge: str) -> list[Answer]:
    """All tasks together, then each; of a single task, that one."""
    if standings["task"][standings["level"] == "task"].nunique() <= 1:
        standings = standings[standings["level"] == "task"]
    own, compared = standings[standings["judge"] == judge], pairs[pairs["judge"] == judge]
    found = []
    for (level, task), rows in own.groupby(["level", "task"], sort=False):
        title = "All tasks" if level == "all" else f"Task: {task}"
        found.append(_answer(title, judge, rows, compared[(compared["level"] == level) & (compared["task"] == task)]))
    return found


def _answer(title: str, judge: str, rows: pd.DataFrame, pairs: pd.DataFrame) -> Answer:
    cells = {(row["model"], row["other"]): _plain(row) for row in pairs.to_dict("records")}
    worse: dict[str, list[str]] = {}
    better: dict[str, list[str]] = {}
    for (model, other), cell in cells.items():
        if sure(cell):
            first, second = (model, other) if cell["difference"] > 0 else (other, model)
            worse.setdefault(first, []).append(second)
            better.setdefault(second, []).append(first)
    places = [
        Place(row["model"], _plain(row), worse.get(row["model"], []), better.get(row["model"], []))
        for row in rows.to_dict("records")
    ]
    detectable = pairs["min_detectable_effect"].dropna()
    return Answer(title, judge, places, cells, float(detectable.median()) if len(detectable) else None)


def sure(cell: Mapping[str, Any]) -> bool:
    """Whether a difference holds after Holm's adjustment; the bootstrap must agree with the test."""
    return known(cell["p_holm"]) and cell["p_holm"] < 1 - CONFIDENCE and not cell["low"] <= 0 <= cell["high"]


def difference(cells: Mapping[tuple[str, str], dict[str, Any]], model: str, other: str) -> dict[str, Any] | None:
    """The comparison of two models seen from the first; None where there is none."""
    if (model, other) in cells:
        return cells[model, other]
    if (other, model) not in cells:
        return None
    cell = cells[other, model]
    return {**cell, "difference": -cell["difference"], "low": -cell["high"], "high": -cell["low"]}


def moves(table: pd.DataFrame, judges: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Over all answers: the judges, those that move the models least first, and a row per model in the reference's order.

    `moves` of a row holds the judge's move of it, or None.
    """
    whole = table[table["level"] == "all"].dropna(subset=["rank_reference", "rank"])
    cells = {(row["judge"], row["model"]): _plain(row) for row in whole.to_dict("records")}
    shift = whole["rank_shift"].abs().groupby(whole["judge"]).mean()
    named = sorted((judge for judge in judges if judge in shift.index), key=lambda judge: shift[judge])
    truth = whole.drop_duplicates("model").sort_values(["rank_reference", "model"])
    rows = [
        {"model": row["model"], "rank": int(row["rank_reference"]), "moves": [cells.get((judge, row["model"])) for judge in named]}
        for row in truth.to_dict("records")
    ]
    return named, rows


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Values as the template shows them: places are whole numbers, or None."""
    return {str(name): _place(value) if name in PLACES else value for name, value in row.items()}


def _place(value: Any) -> int | None:
    return int(value) if known(value) else None
