"""Prepare the results of pairwise comparisons as plain values for the report's template."""

from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import TITLES, group_title, is_known, records


def build_views(agreement: Path, ranks: Path, correlations: Path) -> list[dict[str, Any]]:
    """Return the view of each set of pairs: its name, `measures` per group, `ranks` and `correlations` over all pairs or None.

    Rows of the tables are judges as configured, then people and the majority class.

    Args:
        agreement, ranks, correlations: output of `evaluation.pairs.ranks.build_ranks`.
    """
    agreement_table = tables.read(agreement, tables.PAIR_AGREEMENT)
    rank_table = tables.read(ranks, tables.RANKS)
    correlation_table = tables.read(correlations, tables.RANK_CORRELATIONS)
    views = []
    for name in dict.fromkeys(agreement_table["set"]):
        set_agreement, set_ranks, set_correlations = (
            table[table["set"] == name] for table in (agreement_table, rank_table, correlation_table)
        )
        measures = [
            _measures_view(rows, str(level), str(task))
            for (level, task), rows in set_agreement.groupby(["level", "task"], sort=False)
        ]
        views.append(
            {
                "name": str(name),
                "measures": measures,
                "ranks": _ranks_view(set_ranks[set_ranks["level"] == "all"]),
                "correlations": _correlations_view(set_correlations[set_correlations["level"] == "all"]),
            }
        )
    return views


def _nest(rows: pd.DataFrame, inner: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return judge → value of `inner` → row."""
    nested: dict[str, dict[str, dict[str, Any]]] = {}
    for row in records(rows):
        nested.setdefault(row["judge"], {})[row[inner]] = row
    return nested


def _measures_view(rows: pd.DataFrame, level: str, task: str) -> dict[str, Any]:
    """Return a group's title, `columns` of measures known for at least one judge, and `rows` of (judge, measure → row)."""
    measures = set(rows["measure"][rows["value"].notna()])
    columns = {measure: heading for measure, heading in TITLES["pair_measures"].items() if measure in measures}
    return {"title": group_title(level, task), "columns": columns, "rows": list(_nest(rows, "measure").items())}


def _ranks_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return judges, `rows` of (model, per judge its row or None) in the first judge's order, and judge → why it has no ranks."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "model")
    models = dict.fromkeys(model for judged in by_judge.values() for model in judged)
    reasons = {judge: next(iter(judged.values()))["reason"] for judge, judged in by_judge.items()}
    cells = [(model, [judged.get(model) for judged in by_judge.values()]) for model in models]
    return {
        "judges": list(by_judge),
        "rows": cells,
        "reason": {judge: reason for judge, reason in reasons.items() if is_known(reason)},
    }


def _correlations_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return `rankings` compared with, as (name, by pairs or answers), and `rows` of (judge, per ranking its row or None)."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "other")
    rankings = list(dict.fromkeys((row["other"], row["by"]) for row in records(rows)))
    cells = [(judge, [judged.get(ranking) for ranking, _ in rankings]) for judge, judged in by_judge.items()]
    return {"rankings": rankings, "rows": cells}
