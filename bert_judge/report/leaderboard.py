"""Prepare the headline, the ranking of models, their accuracies, comparisons and rank shifts for the report's template."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bert_judge.report.format import count, group_title, interval, is_known, p_value, percent, points, points_interval, records
from bert_judge.report.sections import JudgeView

# A matrix of more models is unreadable; only their table is shown.
MAX_MATRIX_MODELS = 40
# Integer columns, which pandas turns into floats if a value is missing.
RANK_COLUMNS = {"rank", "rank_low", "rank_high", "rank_reference", "rank_shift"}


def headline(rankings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe which model leads, and whether the lead is significant."""
    if not rankings or not any(entry["row"]["invalid"] < 1 for entry in rankings[0]["models"]):
        return ["No answer has a verdict yet, so there is nothing to rank."]
    ranking = rankings[0]
    first, *opponents = ranking["models"]
    row = first["row"]
    sentences = [
        f"{first['model']} has the highest accuracy: {percent(row['accuracy'])} (95% interval "
        f"{interval(row['low'], row['high'])}), judged by {ranking['judge']} on {count(int(row['n']), 'answer')}"
        f"{' and corrected with ' + count(ranking['labels'], 'label') if 'labels' in ranking else ''}."
    ]
    if not opponents:
        return [*sentences, "It is the only model, so there is no ranking."]
    second = opponents[0]["model"]
    lead = compare_models(ranking["comparisons"], first["model"], second)
    if lead is None or not lead["n"]:
        return [*sentences, f"{second} is second; the two share no question, so the lead was not tested."]
    negation = "" if lead["significant"] else "not "
    return [
        *sentences,
        f"The lead is {negation}significant: {points(lead['difference'])} points over {second} on shared "
        f"questions (95% interval {points_interval(lead['low'], lead['high'])}, adjusted {p_value(lead['p_holm'])}).",
    ]


def rankings(standings: pd.DataFrame, pairs: pd.DataFrame, judge: str) -> list[dict[str, Any]]:
    """Return the ranking over all tasks together, then one per task.

    Returns:
        Per ranking its title and judge; `models`, best first, each with its row of the standings and the models that it is
        significantly `better_than`; `comparisons` by (model, other); and the median minimum detectable difference or None.
    """
    ranked, pairs = distinct_levels(standings), pairs[pairs["judge"] == judge]
    return [
        _ranking(group_title(str(level), str(task)), judge, rows, pairs[(pairs["level"] == level) & (pairs["task"] == task)])
        for (level, task), rows in ranked[ranked["judge"] == judge].groupby(["level", "task"], sort=False)
    ]


def _ranking(title: str, judge: str, rows: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, Any]:
    comparisons = {(row["model"], row["other"]): row for row in _rank_records(pairs)}
    better_than: dict[str, list[str]] = {}
    for (model, opponent), comparison in comparisons.items():
        if comparison["significant"]:
            better, worse = (model, opponent) if comparison["difference"] > 0 else (opponent, model)
            better_than.setdefault(better, []).append(worse)
    detectable = pairs["min_detectable_effect"].dropna()
    return {
        "title": title,
        "judge": judge,
        "models": [
            {"model": row["model"], "row": row, "better_than": better_than.get(row["model"], [])} for row in _rank_records(rows)
        ],
        "comparisons": comparisons,
        "min_detectable": float(detectable.median()) if len(detectable) else None,
        "has_matrix": 1 < len(rows) <= MAX_MATRIX_MODELS,
    }


def accuracy_panels(standings: pd.DataFrame, views: Sequence[JudgeView], lead: str) -> list[dict[str, Any]]:
    """Return the accuracies on all tasks together, then per task, best model first.

    Returns:
        Per panel its title and `models`: (model, number of answers, [(judge, row of the standings)]).
    """
    panels = []
    for (level, task), rows in distinct_levels(standings).groupby(["level", "task"], sort=False):
        cells = {(row["model"], row["judge"]): row for row in records(rows)}
        models = [
            (str(model), cells[model, lead]["n"], [(view, cells[model, view.name]) for view in views])
            for model in rows[rows["judge"] == lead]["model"]
        ]
        panels.append({"title": group_title(str(level), str(task)), "models": models})
    return panels


def distinct_levels(standings: pd.DataFrame) -> pd.DataFrame:
    """Drop the aggregate over all tasks if there is only one task."""
    single_task = standings["task"][standings["level"] == "task"].nunique() <= 1
    return standings[standings["level"] == "task"] if single_task else standings


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
    return [
        {name: (int(value) if is_known(value) else None) if name in RANK_COLUMNS else value for name, value in row.items()}
        for row in records(rows)
    ]
