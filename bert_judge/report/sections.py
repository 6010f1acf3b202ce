"""Prepare judges, accuracies, agreement and validation metrics as plain values for the report's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge.evaluation import statistics
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.score_tables import MODEL, TASK
from bert_judge.judges.bert import judge_folder
from bert_judge.report.format import LEVEL_TITLES, TopTwoComparison, group_title, is_known, records

# Number of colours on the page. With more judges they repeat; shapes and names distinguish judges of one colour.
COLOURS = 8
TRAIT_TITLES = {"model": "Model", "length": "Answer length (characters)", "style": "Style", "status": "Status"}


@dataclass(frozen=True)
class JudgeView:
    """A judge as it is drawn; `role` is gold, trained or other, `note` its role or kind in words."""

    name: str
    note: str
    role: str
    index: int
    colour: int


@dataclass(frozen=True)
class AccuracyPanel:
    """Accuracies on one task, or on all: `models` holds (model, number of answers, [(judge, row of the standings)]), best first."""

    title: str
    models: list[tuple[str, int, list[tuple[JudgeView, dict[str, Any]]]]]


@dataclass(frozen=True)
class CorrectedView:
    """Accuracies under one judge, corrected with labels; `methods` of a row maps each method to its estimate."""

    judge: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class AgreementView:
    """Agreement with gold in one group; `against` of a row holds the comparison with each trained judge, or None."""

    title: str
    level: str
    n: int
    questions: int
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class BreakdownView:
    """Agreement with gold by one trait of the answers: `rows` holds (group, number of answers, agreement row per judge)."""

    title: str
    judges: list[str]
    rows: list[tuple[str, int, list[dict[str, Any]]]]


def judge_views(spec: Mapping[str, Any]) -> list[JudgeView]:
    """Return the judges in reading order: gold, trained, others."""
    roles = {
        judge: "gold" if judge == spec["gold"] else "trained" if judge in spec["trained"] else "other" for judge in spec["judges"]
    }
    ordered = sorted(spec["judges"], key=lambda judge: ["gold", "trained", "other"].index(roles[judge]))
    notes = {judge: spec["kinds"].get(judge, "") if roles[judge] == "other" else roles[judge] for judge in ordered}
    return [JudgeView(judge, notes[judge], roles[judge], index, index % COLOURS) for index, judge in enumerate(ordered)]


def lead_judge(views: Sequence[JudgeView]) -> str:
    """Return the judge of the headline: the first trained judge, else gold, else the first."""
    return next((view.name for view in views if view.role == "trained"), views[0].name)


def trained_judges(spec: Mapping[str, Any]) -> list[str]:
    """Return the trained judges that have a column in the score tables."""
    return [judge for judge in spec["judges"] if judge in spec["trained"] and judge != spec["gold"]]


def distinct_levels(standings: pd.DataFrame) -> pd.DataFrame:
    """Drop the aggregate over all tasks if there is only one task."""
    single_task = standings["task"][standings["level"] == "task"].nunique() <= 1
    return standings[standings["level"] == "task"] if single_task else standings


def accuracy_panels(standings: pd.DataFrame, views: Sequence[JudgeView], lead: str) -> list[AccuracyPanel]:
    """Return a panel for all tasks together, then one per task."""
    panels = []
    for (level, task), rows in distinct_levels(standings).groupby(["level", "task"], sort=False):
        cells = {(row["model"], row["judge"]): row for row in records(rows)}
        models = [
            (str(model), cells[model, lead]["n"], [(view, cells[model, view.name]) for view in views])
            for model in rows[rows["judge"] == lead]["model"]
        ]
        panels.append(AccuracyPanel(group_title(str(level), str(task)), models))
    return panels


def corrected_views(table: pd.DataFrame, audit: Mapping[str, Any]) -> list[CorrectedView]:
    """Return one view per judge, the audited one first; its rows are all models together, then each model, best first by PPI++.

    Args:
        table: in the schema `tables.CORRECTED_ACCURACY`.
        audit: see `Plan.corrected_spec`.
    """
    views = []
    for judge in sorted(audit["judges"], key=lambda name: name != audit["judge"]):
        rows = []
        for (level, model), estimates in table[table["judge"] == judge].groupby(["level", "model"], sort=True):
            methods = {row["method"]: row for row in records(estimates)}
            rows.append({**methods["judge"], "level": str(level), "model": str(model), "methods": methods})
        rows.sort(key=lambda row: (row["level"] != "all", -_ppi_accuracy(row)))
        # With a single model, the aggregate repeats it.
        views.append(CorrectedView(judge, rows[1:] if len(rows) == 2 else rows))
    return views


def _ppi_accuracy(row: Mapping[str, Any]) -> float:
    accuracy = row["methods"]["ppi"]["accuracy"]
    return float(accuracy) if is_known(accuracy) else 0.0


def compare_top_two(verdicts: pd.DataFrame, judge: str, ranking: pd.DataFrame) -> TopTwoComparison | None:
    """Compare the first two models on the answers that both gave; None if there are none."""
    if len(ranking) < 2:
        return None
    column, key = f"{judge}_verdict", [TASK, "sample_id", "attempt"]
    first, second = (verdicts[verdicts[MODEL] == model].set_index(key)[column] for model in ranking["model"].iloc[:2])
    paired = pd.concat([first.rename("first"), second.rename("second")], axis=1, join="inner")
    if paired.empty:
        return None
    correct = paired["first"] == "correct", paired["second"] == "correct"
    questions = paired.index.get_level_values("sample_id")
    return TopTwoComparison(statistics.paired_difference(*correct, questions), statistics.mcnemar_p(*correct))


def judge_errors(agreement: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each judge's row of the agreement table over all answers, smallest accuracy error first."""
    rows = agreement[(agreement["level"] == "all") & (agreement["judge"] != MAJORITY)]
    return records(rows.sort_values(["accuracy_error", "judge"]))


def agreement_views(agreement: pd.DataFrame, comparisons: pd.DataFrame, spec: Mapping[str, Any]) -> list[AgreementView]:
    """Return one view per group: all, families, tasks; a group identical to a larger one is left out.

    Args:
        agreement, comparisons: the tables.
        spec: of the report; uses `families` and the order of `trained`.
    """
    comparison_rows = {(row["level"], row["group"], row["judge"], row["other"]): row for row in records(comparisons)}
    family_tasks: dict[str, list[str]] = {}
    for task in agreement["group"][agreement["level"] == "task"].unique():
        family_tasks.setdefault(spec["families"][task], []).append(task)
    views = []
    for key, group_rows in agreement[agreement["level"].isin(LEVEL_TITLES)].groupby(["level", "group"], sort=False):
        level, group = map(str, key)
        if (level == "family" and len(family_tasks) == 1) or (level == "task" and len(family_tasks[spec["families"][group]]) == 1):
            continue
        rows = records(group_rows.sort_values(["agreement", "judge"], ascending=[False, True]))
        for row in rows:
            row["against"] = [comparison_rows.get((level, group, judge, row["judge"])) for judge in trained_judges(spec)]
        title = group_title(level, group)
        if level == "family":
            title = f"{title.replace('_', ' ')} ({', '.join(family_tasks[group])})"
        views.append(AgreementView(title, level, int(group_rows["n"].iloc[0]), int(group_rows["questions"].iloc[0]), rows))
    return views


def breakdown_views(agreement: pd.DataFrame, judges: Sequence[str]) -> list[BreakdownView]:
    """Return agreement by model, length, style and status, as far as the answers differ in them; judges in the given order."""
    views = []
    for level, title in TRAIT_TITLES.items():
        trait_rows = agreement[agreement["level"] == level]
        cells = {(row["group"], row["judge"]): row for row in records(trait_rows)}
        columns = [judge for judge in judges if judge in set(trait_rows["judge"])]
        groups = list(dict.fromkeys(trait_rows["group"]))
        if groups and columns:
            rows = [(group, int(cells[group, columns[0]]["n"]), [cells[group, judge] for judge in columns]) for group in groups]
            views.append(BreakdownView(title, columns, rows))
    return views


def validation_metrics(judges: Mapping[str, Path]) -> list[tuple[str, dict[str, Any]]]:
    """Return (judge, its validation metrics); a judge whose folder has none was not trained here and is left out.

    Raises:
        InputError: a metrics.json is not a JSON object.
    """
    contents = ((judge, judge_folder.read_metrics(Path(folder))) for judge, folder in judges.items())
    return [(judge, _flatten(content)) for judge, content in contents if content is not None]


def _flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested objects into `outer.inner` keys."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
