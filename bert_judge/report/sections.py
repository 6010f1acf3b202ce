"""Prepare the judges, their errors, agreement and validation metrics for the report's template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge.encoder import judge_folder
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.report.format import LEVEL_TITLES, MISSING, TITLES, count, decimal, group_title, is_known, records

PALETTE: list[list[str]] = TITLES["palette"]
METRIC_TITLES: dict[str, str] = TITLES["metrics"]
# Least share of every model's answers with a gold verdict, from which on gold ranks the models.
GOLD_COVERAGE = 0.9


@dataclass(frozen=True, kw_only=True)
class JudgeView:
    """A judge as it is drawn; `role` is gold, trained or other, `note` its role or kind in words."""

    name: str
    note: str
    role: str
    index: int
    colour: int


def judge_views(spec: Mapping[str, Any]) -> list[JudgeView]:
    """Return the judges in reading order: gold, trained, others."""
    roles = {
        judge: "gold" if judge == spec["gold"] else "trained" if judge in spec["trained"] else "other" for judge in spec["judges"]
    }
    ordered = sorted(spec["judges"], key=lambda judge: ["gold", "trained", "other"].index(roles[judge]))
    notes = {judge: spec["kinds"].get(judge, "") if roles[judge] == "other" else roles[judge] for judge in ordered}
    first = 0 if spec["gold"] in ordered else 1
    colours = [colour_of(first + index) for index in range(len(ordered))]
    return [
        JudgeView(name=judge, note=notes[judge], role=roles[judge], index=index, colour=colours[index])
        for index, judge in enumerate(ordered)
    ]


def colour_of(number: int) -> int:
    """Return the index in `PALETTE` of the series with this number; from 1 on, it is never that of gold."""
    return 0 if number == 0 else 1 + (number - 1) % (len(PALETTE) - 1)


def lead_judge(views: Sequence[JudgeView], errors: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the judge of the headline: the best trained one, else gold, else the first of all.

    Args:
        errors: rows of the agreement table over all answers, smallest error first; empty without gold.
    """
    trained = [view.name for view in views if view.role == "trained"]
    return next((row["judge"] for row in errors if row["judge"] in trained), (trained or [views[0].name])[0])


def ranking_judge(standings: pd.DataFrame, gold: str | None, lead: str) -> str:
    """Return the judge that ranks the models: gold where it decided nearly all answers of every model, else `lead`."""
    invalid = standings.loc[(standings["judge"] == gold) & (standings["level"] == "all"), "invalid"]
    return gold if gold is not None and len(invalid) and 1 - invalid.max() >= GOLD_COVERAGE else lead


def trained_judges(spec: Mapping[str, Any]) -> list[str]:
    """Return the trained judges that have a column in the score tables."""
    return [judge for judge in spec["judges"] if judge in spec["trained"] and judge != spec["gold"]]


def judge_errors(agreement: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each judge's row of the agreement table over all answers, smallest accuracy error first."""
    rows = agreement[(agreement["level"] == "all") & (agreement["judge"] != MAJORITY)]
    return records(rows.sort_values(["accuracy_error", "judge"]))


def in_order(rows: Sequence[dict[str, Any]], judges: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows in the order of their judges; those of no judge come last."""
    return sorted(rows, key=lambda row: judges.index(row["judge"]) if row["judge"] in judges else len(judges))


def judge_error_sentences(errors: Sequence[Mapping[str, Any]], judge: str, gold: str | None) -> list[str]:
    """Describe the error of the headline's judge, and that of the worst judge.

    Args:
        errors: rows of the agreement table over all answers, smallest error first.
    """
    if gold is None:
        return ["No gold judge is configured, so these verdicts are not validated."]
    judge_row = next((row for row in errors if row["judge"] == judge and is_known(row["accuracy_error"])), None)
    if judge_row is None:
        return []
    sentence = f"Compared with {gold}: {error_sentence(judge_row)}"
    worst = errors[-1]
    return [sentence if worst["judge"] == judge else f"{sentence} The least accurate judge: {error_sentence(worst)}"]


def error_sentence(row: Mapping[str, Any]) -> str:
    """Describe how much a judge distorts accuracies and ranks, from a row of the agreement table."""
    if not is_known(row["accuracy_error"]):
        return f"{row['judge']}: no answer has a gold verdict."
    error = f"{row['judge']} has a mean accuracy error of {100 * row['accuracy_error']:.1f} points per model"
    if not is_known(row["most_shifted_model"]):
        return f"{error}."
    shift = int(row["rank_shift"])
    if shift == 0:
        return f"{error} and leaves every rank unchanged."
    return f"{error} and ranks {row['most_shifted_model']} {count(abs(shift), 'place')} too {'high' if shift > 0 else 'low'}."


def agreement_views(
    agreement: pd.DataFrame, comparisons: pd.DataFrame, spec: Mapping[str, Any], judges: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the agreement with gold per group: all, families, tasks; a group identical to a larger one is left out.

    Args:
        agreement, comparisons: the tables.
        spec: of the report; uses `families` and the order of `trained`.
        judges: in the order of the rows; the majority class comes last.

    Returns:
        Per group its title and `rows`; `against` of a row holds the comparison with each trained judge, or None.
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
        rows = in_order(records(group_rows), judges)
        for row in rows:
            row["against"] = [comparison_rows.get((level, group, judge, row["judge"])) for judge in trained_judges(spec)]
        title = group_title(level, group)
        if level == "family":
            title = f"{title.replace('_', ' ')} ({', '.join(family_tasks[group])})"
        views.append({"title": title, "level": level, "n": rows[0]["n"], "questions": rows[0]["questions"], "rows": rows})
    return views


def breakdown_views(agreement: pd.DataFrame, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Return agreement by model, length, style and status, as far as the answers differ in them.

    Returns:
        Per trait its title, `judges` in the given order, and `rows` of (group, number of answers, agreement row per judge).
    """
    views = []
    for level, title in TITLES["traits"].items():
        trait_rows = agreement[agreement["level"] == level]
        cells = {(row["group"], row["judge"]): row for row in records(trait_rows)}
        columns = [judge for judge in judges if judge in set(trait_rows["judge"])]
        groups = list(dict.fromkeys(trait_rows["group"]))
        if groups and columns:
            rows = [(group, int(cells[group, columns[0]]["n"]), [cells[group, judge] for judge in columns]) for group in groups]
            views.append({"title": title, "judges": columns, "rows": rows})
    return views


def metrics_table(judges: Mapping[str, Path]) -> dict[str, Any]:
    """Return `judges`, and `rows` of (metric, its text per judge); a judge whose folder has no metrics is left out."""
    contents = {judge: judge_folder.read_metrics(Path(folder)) for judge, folder in judges.items()}
    metrics = {judge: _flatten(content) for judge, content in contents.items() if content is not None}
    names = dict.fromkeys(name for values in metrics.values() for name in values)
    return {"judges": list(metrics), "rows": [(name, [values.get(name, MISSING) for values in metrics.values()]) for name in names]}


def _flatten(content: Mapping[str, Any], group: str = "") -> dict[str, str]:
    """Return the metrics of nested objects by title, such as `validation: accuracy`, as rounded text."""
    flat: dict[str, str] = {}
    for key, value in content.items():
        title = f"{group}{METRIC_TITLES.get(key, key.replace('_', ' '))}"
        flat |= _flatten(value, f"{title}: ") if isinstance(value, dict) else {title: _metric_text(value)}
    return flat


def _metric_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_metric_text, value))
    if not isinstance(value, int | float) or isinstance(value, bool):
        return MISSING if value is None else str(value)
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else decimal(value)
