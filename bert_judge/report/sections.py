"""What the report shows, as plain values for its template."""

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
from bert_judge.report import format

# Colours that repeat when there are more judges; shapes and names tell them apart too.
COLOURS = 8
LEVEL_TITLES = {"all": "All tasks", "family": "Family", "task": "Task"}
TRAIT_TITLES = {"model": "Model", "length": "Characters of the answer", "style": "Style", "status": "Status"}


@dataclass(frozen=True)
class JudgeView:
    """How a judge is drawn. `role` is gold, trained or other; `note` says what it is."""

    name: str
    note: str
    role: str
    index: int
    colour: int


@dataclass(frozen=True)
class Panel:
    """The standings of one task, or of all. `models` holds (name, n, row of the standings per judge), best first."""

    title: str
    models: list[tuple[str, int, list[tuple[JudgeView, dict[str, Any]]]]]


@dataclass(frozen=True)
class CorrectedView:
    """The accuracies under one judge, corrected by labels; `methods` of a row holds the estimate of each method."""

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


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as column → value."""
    return [{str(column): value for column, value in row.items()} for row in frame.to_dict("records")]


def judge_views(spec: Mapping[str, Any]) -> list[JudgeView]:
    """Judges in reading order: gold, trained, others."""
    role = {
        judge: "gold" if judge == spec["gold"] else "trained" if judge in spec["trained"] else "other" for judge in spec["judges"]
    }
    ordered = sorted(spec["judges"], key=lambda judge: ["gold", "trained", "other"].index(role[judge]))
    notes = {judge: spec["kinds"].get(judge, "") if role[judge] == "other" else role[judge] for judge in ordered}
    return [JudgeView(judge, notes[judge], role[judge], index, index % COLOURS) for index, judge in enumerate(ordered)]


def lead_judge(views: Sequence[JudgeView]) -> str:
    """Whose verdicts the headline tells: the first trained judge, else gold, else the first."""
    return next((view.name for view in views if view.role == "trained"), views[0].name)


def panels(standings: pd.DataFrame, views: Sequence[JudgeView], lead: str) -> list[Panel]:
    """All tasks together, then each task; a single task stands for itself."""
    if standings["task"][standings["level"] == "task"].nunique() <= 1:
        standings = standings[standings["level"] == "task"]
    found = []
    for (level, task), part in standings.groupby(["level", "task"], sort=False):
        rows = {(row["model"], row["judge"]): row for row in records(part)}
        order = part[part["judge"] == lead]["model"]
        models = [(str(model), rows[model, lead]["n"], [(view, rows[model, view.name]) for view in views]) for model in order]
        found.append(Panel(f"{LEVEL_TITLES[level]}: {task}" if level == "task" else LEVEL_TITLES["all"], models))
    return found


def corrected(table: pd.DataFrame, audit: Mapping[str, Any]) -> list[CorrectedView]:
    """One view per judge, the audited one first; in it all models together, then each, best first by PPI++.

    Args:
        table: in the schema `tables.CORRECTED_ACCURACY`.
        audit: as `Plan.corrected_spec` makes it.
    """
    found = []
    for judge in sorted(audit["judges"], key=lambda name: name != audit["judge"]):
        rows = []
        for (level, model), part in table[table["judge"] == judge].groupby(["level", "model"], sort=True):
            methods = {row["method"]: row for row in records(part)}
            rows.append({**methods["judge"], "level": str(level), "model": str(model), "methods": methods})
        rows.sort(key=lambda row: (row["level"] != "all", -format.or_zero(row["methods"]["ppi"]["accuracy"])))
        # One model is all models.
        found.append(CorrectedView(judge, rows[1:] if len(rows) == 2 else rows))
    return found


def duel(verdicts: pd.DataFrame, judge: str, best: pd.DataFrame) -> format.Duel | None:
    """The leader against the runner-up, on the answers that have a counterpart; None without any."""
    if len(best) < 2:
        return None
    column, key = f"{judge}_verdict", [TASK, "sample_id", "attempt"]
    valid = verdicts[verdicts[column] != "invalid"]
    first, second = (valid[valid[MODEL] == model].set_index(key)[column] for model in best["model"].iloc[:2])
    both = pd.concat([first.rename("first"), second.rename("second")], axis=1, join="inner")
    if both.empty:
        return None
    right = both["first"] == "correct", both["second"] == "correct"
    questions = both.index.get_level_values("sample_id")
    return format.Duel(statistics.paired_difference(*right, questions), statistics.mcnemar_p(*right))


def errors(agreement: pd.DataFrame) -> list[dict[str, Any]]:
    """What each judge does to the models' accuracies, over all answers, best judge first."""
    rows = agreement[(agreement["level"] == "all") & (agreement["judge"] != MAJORITY)]
    return records(rows.sort_values(["accuracy_error", "judge"]))


def agreement_views(agreement: pd.DataFrame, comparisons: pd.DataFrame, spec: Mapping[str, Any]) -> list[AgreementView]:
    """One table per group: all, families, tasks. A group that is the whole of a larger one is not shown again.

    Args:
        agreement, comparisons: the tables.
        spec: of the report; `families` and the order of `trained` are used.
    """
    compared = {(row["level"], row["group"], row["judge"], row["other"]): row for row in records(comparisons)}
    members: dict[str, list[str]] = {}
    for task in agreement["group"][agreement["level"] == "task"].unique():
        members.setdefault(spec["families"][task], []).append(task)
    found = []
    for key, part in agreement[agreement["level"].isin(LEVEL_TITLES)].groupby(["level", "group"], sort=False):
        level, group = map(str, key)
        if (level == "family" and len(members) == 1) or (level == "task" and len(members[spec["families"][group]]) == 1):
            continue
        rows = records(part.sort_values(["agreement", "judge"], ascending=[False, True]))
        for row in rows:
            row["against"] = [compared.get((level, group, judge, row["judge"])) for judge in shown_trained(spec)]
        title = LEVEL_TITLES[level] if level == "all" else f"{LEVEL_TITLES[level]}: {group}"
        if level == "family":
            title = f"{title.replace('_', ' ')} ({', '.join(members[group])})"
        found.append(AgreementView(title, level, int(part["n"].iloc[0]), int(part["questions"].iloc[0]), rows))
    return found


@dataclass(frozen=True)
class BreakdownView:
    """Agreement with gold by one trait of the answers; `rows` holds (group, answers, row of the agreement table per judge)."""

    title: str
    judges: list[str]
    rows: list[tuple[str, int, list[dict[str, Any]]]]


def breakdown(agreement: pd.DataFrame, judges: Sequence[str]) -> list[BreakdownView]:
    """Model, length, style, status, those that divide the answers; judges in this order."""
    found = []
    for level, title in TRAIT_TITLES.items():
        part = agreement[agreement["level"] == level]
        cells = {(row["group"], row["judge"]): row for row in records(part)}
        shown = [judge for judge in judges if judge in set(part["judge"])]
        groups = list(dict.fromkeys(part["group"]))
        if groups and shown:
            rows = [(group, int(cells[group, shown[0]]["n"]), [cells[group, judge] for judge in shown]) for group in groups]
            found.append(BreakdownView(title, shown, rows))
    return found


def shown_trained(spec: Mapping[str, Any]) -> list[str]:
    """The trained judges with a column in the score tables."""
    return [judge for judge in spec["judges"] if judge in spec["trained"] and judge != spec["gold"]]


def validation(judges: Mapping[str, Path]) -> list[tuple[str, dict[str, Any]]]:
    """(judge, its validation metrics); a judge whose folder holds none was not trained here and is left out.

    Raises:
        InputError: a metrics.json is not a JSON object.
    """
    found = []
    for judge, folder in judges.items():
        content = judge_folder.read_metrics(Path(folder))
        if content is not None:
            found.append((judge, _flat(content)))
    return found


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as `outer.inner` keys."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
