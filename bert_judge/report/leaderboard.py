"""Prepare the headline, the ranking of models, their accuracies, corrections, comparisons and rank shifts for the template."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.audit.corrected import SCHEMAS, next_steps
from bert_judge.report.format import count, group_title, interval, is_known, p_value, percent, points, points_interval, records
from bert_judge.report.sections import JudgeView
from bert_judge.statistics.accuracy_range import MIN_GAP

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
    if not lead["significant"] and is_known(lead.get("range_low")) and lead["range_low"] < MIN_GAP:
        start = f"Its uncertain verdicts leave the lead at {points_interval(lead['range_low'], lead['range_high'])} points"
        if lead["range_low"] == lead["range_high"]:
            start = f"The lead is below {100 * MIN_GAP:g} points"
        sentences.append(f"{start}, and certain verdicts may be wrong too; labels of an audit settle it.")
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
    return {
        **reverse,
        "difference": -reverse["difference"],
        "low": -reverse["high"],
        "high": -reverse["low"],
        **_reverse_range(reverse),
    }


def _reverse_range(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return the range of the opposite difference; empty for a corrected comparison, which has none."""
    if "range_low" not in comparison:
        return {}
    return {"range_low": -comparison["range_high"], "range_high": -comparison["range_low"]}


def rank_shifts(table: pd.DataFrame, judges: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the judges that have shifts, in their order, and one row per model in the reference's order, over all answers.

    `shifts` of a row holds the row of the table for each judge, or None.
    """
    overall = table[table["level"] == "all"].dropna(subset=["rank_reference", "rank"])
    cells = {(row["judge"], row["model"]): row for row in _rank_records(overall)}
    ordered = [judge for judge in judges if judge in set(overall["judge"])]
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


# --- corrected accuracies ---


class AuditTables(NamedTuple):
    """Output of `build_corrected`."""

    accuracies: pd.DataFrame
    pairs: pd.DataFrame
    certificates: pd.DataFrame


def read_tables(folder: Path) -> AuditTables:
    return AuditTables(*(tables.read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()))


def corrected_views(audit: AuditTables, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the corrected accuracies per judge, the audited one first: all models together, then each, best first by PPI++.

    Args:
        spec: see `Plan.corrected_spec`.

    Returns:
        Per judge its name and `rows`; `methods` of a row maps each method to its estimate.
    """
    views = []
    for judge in sorted(spec["judges"], key=lambda name: name != spec["judge"]):
        rows = []
        judge_rows = audit.accuracies[audit.accuracies["judge"] == judge]
        for (level, model), estimates in judge_rows.groupby(["level", "model"], sort=True):
            methods = {row["method"]: row for row in records(estimates)}
            rows.append({**methods["judge"], "level": str(level), "model": str(model), "methods": methods})
        rows.sort(key=lambda row: (row["level"] != "all", -_ppi_accuracy(row)))
        # With a single model, the aggregate repeats it.
        views.append({"judge": judge, "rows": rows[1:] if len(rows) == 2 else rows})
    return views


def _ppi_accuracy(row: Mapping[str, Any]) -> float:
    accuracy = row["methods"]["ppi"]["accuracy"]
    return float(accuracy) if is_known(accuracy) else 0.0


def correct_ranking(audit: AuditTables, ranking: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a ranking over all answers with corrected accuracies and comparisons; None if a model has no corrected accuracy.

    The interval of a rank follows from the comparisons that are significant after Holm's adjustment.

    Args:
        ranking: from `leaderboard.rankings`.
    """
    accuracies, pairs = (table[(table["judge"] == ranking["judge"]) & (table["method"] == "ppi")] for table in audit[:2])
    rows = {row["model"]: row for row in records(accuracies[accuracies["level"] == "model"])}
    entries = [{**entry, "row": {**entry["row"]}, "better_than": []} for entry in ranking["models"]]
    if not all(is_known(rows.get(entry["model"], {}).get("accuracy")) for entry in entries):
        return None
    by_name = {entry["model"]: entry for entry in entries}
    comparisons = {(row["model"], row["other"]): row for row in records(pairs)}
    worse: dict[str, int] = dict.fromkeys(by_name, 0)
    for (model, opponent), row in comparisons.items():
        if row["significant"]:
            by_name[model]["better_than"].append(opponent)
            worse[opponent] += 1
    for model, entry in by_name.items():
        entry["row"] |= {name: rows[model][name] for name in ("accuracy", "low", "high", "labels")}
        rank = 1 + sum(rows[name]["accuracy"] > rows[model]["accuracy"] for name in by_name)
        entry["row"] |= {"rank": rank, "rank_low": 1 + worse[model], "rank_high": len(entries) - len(entry["better_than"])}
    detectable = pairs["min_detectable_effect"].dropna()
    return {
        **ranking,
        "models": sorted(entries, key=lambda entry: (entry["row"]["rank"], entry["model"])),
        "comparisons": comparisons,
        "min_detectable": float(detectable.median()) if len(detectable) else None,
        "labels": int(sum(rows[model]["labels"] for model in by_name)),
    }


def audit_view(audit: AuditTables, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the comparisons of the audited judge, `next_steps` in words, and the certificate of each judge, passed ones first."""
    pairs = audit.pairs[audit.pairs["judge"] == spec["judge"]]
    certificates = records(audit.certificates)
    order = {True: 0, False: 1}
    certificates.sort(key=lambda row: (order.get(row["passed"], 2), row["judge"] != spec["judge"], row["judge"]))
    return {"comparisons": records(pairs[pairs["method"] == "ppi"]), "next_steps": next_steps(pairs), "certificates": certificates}
