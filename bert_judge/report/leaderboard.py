"""Prepare the ranking of models, their pairwise comparisons and their rank shifts for the report's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.report.format import group_title, is_known, records
from bert_judge.report.sections import distinct_levels
from bert_judge.runtime.bootstrap import CONFIDENCE

# A matrix of more models is unreadable; only their table is shown.
MAX_MATRIX_MODELS = 40
# Integer columns, which pandas turns into floats if a value is missing.
RANK_COLUMNS = {"rank", "rank_low", "rank_high", "rank_reference", "rank_shift"}


@dataclass(frozen=True)
class RankedModel:
    """A model, its row of the standings, and the models that it is significantly better than."""

    model: str
    row: dict[str, Any]
    better_than: list[str]


@dataclass(frozen=True)
class Ranking:
    """Models under one judge, best first; `comparisons` maps (model, other) to their comparison, the better model first.

    Attributes:
        min_detectable: median minimum detectable difference over the pairs; None if unknown.
    """

    title: str
    judge: str
    models: list[RankedModel]
    comparisons: Mapping[tuple[str, str], dict[str, Any]]
    min_detectable: float | None

    @property
    def has_matrix(self) -> bool:
        return 1 < len(self.models) <= MAX_MATRIX_MODELS


def rankings(standings: pd.DataFrame, pairs: pd.DataFrame, judge: str) -> list[Ranking]:
    """Return the ranking over all tasks together, then one per task."""
    ranked, pairs = distinct_levels(standings), pairs[pairs["judge"] == judge]
    return [
        _ranking(group_title(str(level), str(task)), judge, rows, pairs[(pairs["level"] == level) & (pairs["task"] == task)])
        for (level, task), rows in ranked[ranked["judge"] == judge].groupby(["level", "task"], sort=False)
    ]


def _ranking(title: str, judge: str, rows: pd.DataFrame, pairs: pd.DataFrame) -> Ranking:
    comparisons = {(row["model"], row["other"]): row for row in _rank_records(pairs)}
    better_than: dict[str, list[str]] = {}
    for (model, opponent), comparison in comparisons.items():
        if is_significant(comparison):
            better, worse = (model, opponent) if comparison["difference"] > 0 else (opponent, model)
            better_than.setdefault(better, []).append(worse)
    models = [RankedModel(row["model"], row, better_than.get(row["model"], [])) for row in _rank_records(rows)]
    detectable = pairs["min_detectable_effect"].dropna()
    return Ranking(title, judge, models, comparisons, float(detectable.median()) if len(detectable) else None)


def is_significant(comparison: Mapping[str, Any]) -> bool:
    """Return whether a difference is significant after Holm's adjustment; the bootstrap interval must agree with the test."""
    significant = is_known(comparison["p_holm"]) and comparison["p_holm"] < 1 - CONFIDENCE
    return significant and not comparison["low"] <= 0 <= comparison["high"]


def compare_models(comparisons: Mapping[tuple[str, str], dict[str, Any]], model: str, opponent: str) -> dict[str, Any] | None:
    """Return the comparison of `model` minus `other`; None if there is none."""
    if (model, opponent) in comparisons:
        return comparisons[model, opponent]
    if (opponent, model) not in comparisons:
        return None
    reverse = comparisons[opponent, model]
    return {**reverse, "difference": -reverse["difference"], "low": -reverse["high"], "high": -reverse["low"]}


def rank_shifts(table: pd.DataFrame, judges: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the judges, smallest mean rank shift first, and one row per model in the reference's order, over all answers.

    `shifts` of a row holds the row of the table for each judge, or None.
    """
    overall = table[table["level"] == "all"].dropna(subset=["rank_reference", "rank"])
    cells = {(row["judge"], row["model"]): row for row in _rank_records(overall)}
    mean_shift = overall["rank_shift"].abs().groupby(overall["judge"]).mean()
    ordered = sorted((judge for judge in judges if judge in mean_shift.index), key=lambda judge: mean_shift[judge])
    reference = overall.drop_duplicates("model").sort_values(["rank_reference", "model"])
    rows = [
        {"model": row["model"], "rank": row["rank_reference"], "shifts": [cells.get((judge, row["model"])) for judge in ordered]}
        for row in _rank_records(reference)
    ]
    return ordered, rows


def _rank_records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as dictionaries, with ranks as integers or None."""
    return [{name: _to_int(value) if name in RANK_COLUMNS else value for name, value in row.items()} for row in records(rows)]


def _to_int(value: Any) -> int | None:
    return int(value) if is_known(value) else None
