"""What the report shows of students, as plain values for its template."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report import charts
from bert_judge.report.format import count, percent, points, points_span
from bert_judge.report.sections import COLOURS, records


@dataclass(frozen=True)
class StudentView:
    """The students of one key: what is found in words, a chart's name and the chart, and a row of the table per student."""

    recipe: str
    judge: str
    findings: list[str]
    chart: str
    drawn: charts.Chart
    rows: list[dict[str, Any]]


def view(path: Path, judge: str) -> list[StudentView]:
    """One view per key that has students.

    Args:
        path: what `evaluation.students.build_students` wrote.
        judge: whose verdicts are shown.

    Raises:
        InputError: the file is missing or not what it should be.
    """
    table = tables.read(path, tables.STUDENTS)
    # A single task is all tasks.
    level = "all" if (table["level"] == "all").any() else "task"
    table = table[(table["level"] == level) & (table["judge"] == judge)]
    found = []
    for number, (recipe, rows) in enumerate(table.groupby("recipe", sort=False)):
        rows = rows.sort_values(["filter", "keep"], na_position="first", kind="stable")
        drawn = _chart(rows, judge)
        found.append(StudentView(str(recipe), judge, _findings(rows), f"students-{number}", drawn, records(rows)))
    return found


def _findings(rows: pd.DataFrame) -> list[str]:
    """The best student, and each choice of a judge against as many answers drawn at random."""
    students = rows[rows["filter"].notna() & rows["accuracy"].notna()]
    if students.empty:
        return []
    best = max(records(students), key=lambda row: row["accuracy"])
    learnt = f"{count(int(best['answers']), 'answer')}, {_choice(best['chooser'], best['keep'])}"
    said = [f"{best['model']} is best with {percent(best['accuracy'])} right; it learnt from {learnt}."]
    for row in records(students[students["difference"].notna()]):
        clear = "is not clearly better or worse than"
        if row["difference_low"] > 0 or row["difference_high"] < 0:
            clear = "is better than" if row["difference"] > 0 else "is worse than"
        difference = f"{points(row['difference'])} points, {points_span(row['difference_low'], row['difference_high'])}"
        said.append(f"{row['model']} {clear} {row['control']} ({difference}).")
    return said


def _choice(chooser: str, keep: float) -> str:
    if chooser == "all":
        return "all that there were"
    share = f"{keep:g}%"
    return f"{share} drawn at random" if chooser == "random" else f"the {share} that {chooser} scores best"


def _chart(rows: pd.DataFrame, judge: str) -> charts.Chart:
    """Accuracy over the percentage, a line per filter; the base model is a level line."""
    traces: list[charts.Chart] = []
    for row in records(rows[rows["filter"].isna() & rows["accuracy"].notna()]):
        traces.append(
            {
                "x": [0, 100],
                "y": [round(row["accuracy"], 4)] * 2,
                "mode": "lines",
                "name": f"{row['model']} (base)",
                "slot": "soft",
                "line": {"dash": "dot"},
                "hovertemplate": "%{y:.1%}<extra>%{fullData.name}</extra>",
            }
        )
    decided = rows[rows["filter"].notna() & rows["accuracy"].notna()]
    for number, (name, part) in enumerate(decided.groupby("filter", sort=False)):
        traces.append(
            {
                "x": part["keep"].tolist(),
                "y": part["accuracy"].round(4).tolist(),
                "error_y": charts.bars(part["accuracy"], part["low"], part["high"]),
                "text": [count(int(answers), "answer") for answers in part["answers"]],
                "hovertemplate": "%{x}%, %{text}: %{y:.1%}<extra>%{fullData.name}</extra>",
                "mode": "lines+markers",
                "name": str(name),
                "slot": f"c{(number + 1) % COLOURS}",
                "line": {"width": 2},
                "marker": {"size": 8, "symbol": number % len(charts.DASHES)},
            }
        )
    axis = {"title": {"text": "percent of the answers kept"}, "range": [-2, 104], "ticksuffix": "%"}
    return {
        "data": traces,
        "layout": {"xaxis": axis, "yaxis": {"title": {"text": f"accuracy, as {judge} judges"}, "tickformat": ".0%"}},
    }
