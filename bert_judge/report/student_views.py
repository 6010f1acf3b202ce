"""Prepare the results of students as plain values for the report's template."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report import charts
from bert_judge.report.format import comparison_phrase, count, difference_with_interval, percent, records
from bert_judge.report.sections import COLOURS


@dataclass(frozen=True)
class StudentView:
    """Students of one recipe: findings, a chart with its name, and a row of the table per student."""

    recipe: str
    judge: str
    findings: list[str]
    chart_name: str
    chart: charts.Chart
    rows: list[dict[str, Any]]


def build_views(path: Path, judge: str) -> list[StudentView]:
    """Return one view per recipe that has students.

    Args:
        path: output of `build_students`.
        judge: judge whose verdicts are used.

    Raises:
        InputError: the file is missing or has the wrong schema.
    """
    table = tables.read(path, tables.STUDENTS)
    # With a single task there is no aggregate.
    level = "all" if (table["level"] == "all").any() else "task"
    table = table[(table["level"] == level) & (table["judge"] == judge)]
    views = []
    for number, (recipe, rows) in enumerate(table.groupby("recipe", sort=False)):
        rows = rows.sort_values(["filter", "keep"], na_position="first", kind="stable")
        views.append(StudentView(str(recipe), judge, _findings(rows), f"students-{number}", _chart(rows, judge), records(rows)))
    return views


def _findings(rows: pd.DataFrame) -> list[str]:
    """Describe the best student, and compare each selection by a judge with a random selection of the same size."""
    students = rows[rows["filter"].notna() & rows["accuracy"].notna()]
    if students.empty:
        return []
    best = max(records(students), key=lambda row: row["accuracy"])
    data = f"{count(int(best['answers']), 'answer')} ({_selection(best['chooser'], best['keep'])})"
    return [
        f"{best['model']} has the highest accuracy, {percent(best['accuracy'])}; it was fine-tuned on {data}.",
        *(
            f"{row['model']} is {comparison_phrase(row)} {row['control']} ({difference_with_interval(row)})."
            for row in records(students[students["difference"].notna()])
        ),
    ]


def _selection(chooser: str, keep: float) -> str:
    if chooser == "all":
        return "all available"
    return f"{keep:g}% drawn at random" if chooser == "random" else f"top {keep:g}% by {chooser}"


def _chart(rows: pd.DataFrame, judge: str) -> charts.Chart:
    """Plot accuracy against the percentage kept, with one line per filter and a horizontal line for the base model."""
    rows = rows[rows["accuracy"].notna()]
    traces: list[charts.Chart] = [
        {
            "x": [0, 100],
            "y": [round(row["accuracy"], 4)] * 2,
            "mode": "lines",
            "name": f"{row['model']} (base)",
            "slot": "soft",
            "line": {"dash": "dot"},
            "hovertemplate": "%{y:.1%}<extra>%{fullData.name}</extra>",
        }
        for row in records(rows[rows["filter"].isna()])
    ]
    for number, (name, students) in enumerate(rows[rows["filter"].notna()].groupby("filter", sort=False)):
        traces.append(
            {
                "x": students["keep"].tolist(),
                "y": students["accuracy"].round(4).tolist(),
                "error_y": charts.error_bars(students["accuracy"], students["low"], students["high"]),
                "text": [count(int(answers), "answer") for answers in students["answers"]],
                "hovertemplate": "%{x}%, %{text}: %{y:.1%}<extra>%{fullData.name}</extra>",
                "mode": "lines+markers",
                "name": str(name),
                "slot": f"c{(number + 1) % COLOURS}",
                "line": {"width": 2},
                "marker": {"size": 8, "symbol": number % len(charts.DASHES)},
            }
        )
    x_axis = {"title": {"text": "answers kept"}, "range": [-2, 104], "ticksuffix": "%"}
    y_axis = {"title": {"text": f"accuracy, judged by {judge}"}, "tickformat": ".0%"}
    return {"data": traces, "layout": {"xaxis": x_axis, "yaxis": y_axis}}
