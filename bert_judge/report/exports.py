"""Export standings and ranks: Markdown for a README, CSV for a spreadsheet, LaTeX for a paper, and a plot of accuracies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import TABLE_FORMATS, estimate_cell, format_table, is_known, models_by_judge, percent
from bert_judge.report.sections import PALETTE, JudgeView, judge_views, lead_judge
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def export_standings(path: str | Path, form: str, task: str | None = None) -> str:
    """Return the standings as text that ends with a line break.

    Args:
        path: `standings.parquet` of a run.
        form: one of `TABLE_FORMATS`. CSV has one row per task, model and judge with every number; the other formats have one row
            per model and one column per judge, gold first, with accuracies in percent.
        task: export this task only; by default CSV has all tasks, and the other formats the aggregate over all tasks.

    Raises:
        InputError: the file is missing or no standings table, or the task or format is unknown.
    """
    path = Path(path)
    if form not in TABLE_FORMATS:
        raise InputError(f"--format {form}: unknown; choose one of {', '.join(TABLE_FORMATS)}")
    standings = tables.read(path, tables.STANDINGS)
    task_rows = standings["level"] == "task"
    if task is not None:
        rows = standings[task_rows & (standings["task"] == task)]
        if rows.empty:
            available = ", ".join(sorted(standings["task"][task_rows].unique()))
            raise InputError(f"{path}: no task {task!r}; available: {available}")
    else:
        rows = standings if form == "csv" else standings[standings["level"] == "all"]
    if form != "csv":
        spec = json.loads(tables.provenance(path).get("spec", "{}"))
        rows = models_by_judge(rows, spec.get("gold"), _accuracy_cell, spec.get("trained", ()))
    return format_table(rows, form)


def write_exports(standings: Path, *, csv: Path, markdown: Path, latex: Path, plot: Path) -> None:
    """Write the standings in every format, and their plot; the plot of empty standings is an empty image."""
    for form, path in (("csv", csv), ("markdown", markdown), ("latex", latex)):
        _write_text(export_standings(standings, form), path)
    if tables.read(standings, tables.STANDINGS).empty:
        _write_text('<svg xmlns="http://www.w3.org/2000/svg"/>\n', plot)
    else:
        save_standings_plot(standings, plot)


def write_rank_exports(ranks: Path, csv: Path, markdown: Path) -> None:
    """Write the ranks from pairwise comparisons: CSV with every number, Markdown with one table per set of pairs."""
    table = tables.read(ranks, tables.RANKS)
    sections = [
        f"{name}\n\n{format_table(models_by_judge(rows, None, _rank_cell), 'markdown')}"
        for name, rows in table[table["level"] == "all"].groupby("set", sort=False)
    ]
    _write_text(format_table(table, "csv"), csv)
    _write_text("\n".join(sections), markdown)


def _write_text(text: str, path: Path) -> None:
    with tables.atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _accuracy_cell(row: Any) -> str:
    estimate = estimate_cell(row.accuracy, row.low, row.high)
    return f"{estimate}, {percent(row.invalid)} invalid" if is_known(row.accuracy) and row.invalid else estimate


def _rank_cell(row: Any) -> str:
    estimate = estimate_cell(row.expected_win_rate, row.expected_win_rate_low, row.expected_win_rate_high)
    return f"{row.rank}. {estimate}" if is_known(row.expected_win_rate) and is_known(row.rank) else estimate


# --- plot ---

MARKERS = {"gold": "D", "trained": "o", "other": "s"}
FORMATS = (".png", ".svg", ".pdf")


def save_standings_plot(standings: Path, path: Path) -> None:
    """Plot the standings over all tasks to a .png, .svg or .pdf file; equal tables give equal files.

    Marker: accuracy, with invalid verdicts counted as incorrect. Line: 95% interval. Pale bar: up to the accuracy if all invalid
    verdicts were correct. Tick: accuracy among valid verdicts.

    Raises:
        InputError: the table is no standings table or empty, or the file extension is unknown.
    """
    standings, path = Path(standings), Path(path)
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: unknown image format; use one of {', '.join(FORMATS)}")
    table = tables.read(standings, tables.STANDINGS)
    table = table[table["level"] == "all"]
    if table.empty:
        raise InputError(f"{standings}: no row to plot; score some answers first")
    defaults: dict[str, Any] = {"judges": sorted(table["judge"].unique()), "gold": None, "trained": [], "kinds": {}}
    views = judge_views(defaults | json.loads(tables.provenance(standings).get("spec", "{}")))
    names = table.loc[table["judge"] == lead_judge(views), "model"].tolist()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "standings", "font.size": 9}):
        figure = Figure(figsize=(8, 1.2 + len(names) * (0.16 * len(views) + 0.14)), layout="constrained")
        axes = figure.subplots()
        for view in views:
            _draw_judge(axes, table[table["judge"] == view.name], models=names, view=view, num_judges=len(views))
        _style_axes(axes, names)
        figure.legend(loc="outside upper left", ncols=min(len(views), 4), frameon=False)
        # A date in the file would make equal plots differ.
        metadata = {"Software": None} if path.suffix == ".png" else {"Date" if path.suffix == ".svg" else "CreationDate": None}
        with tables.atomic(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=metadata)


def _draw_judge(axes: Axes, rows: pd.DataFrame, *, models: list[str], view: JudgeView, num_judges: int) -> None:
    """Draw the estimates of one judge, on its own line within each model's band."""
    colour = PALETTE[view.colour][0]
    offset = (view.index - (num_judges - 1) / 2) * 0.8 / num_judges
    y = rows["model"].map({model: position + offset for position, model in enumerate(models)})
    accuracy, upper = 100 * rows["accuracy"], 100 * rows["accuracy_upper"]
    axes.barh(y, upper - accuracy, left=accuracy, height=0.5 / num_judges, color=colour, alpha=0.22)
    with_invalid = rows["invalid"] > 0
    axes.plot(100 * rows["accuracy_decided"][with_invalid], y[with_invalid], "|", color=colour, markersize=7, markeredgewidth=2)
    axes.hlines(y, 100 * rows["low"], 100 * rows["high"], color=colour, linewidth=1.4)
    fill = "white" if view.role == "other" else colour
    name = view.name.replace("$", r"\$")
    axes.plot(accuracy, y, MARKERS[view.role], color=colour, markerfacecolor=fill, markersize=4.5, label=name)


def _style_axes(axes: Axes, models: list[str]) -> None:
    axes.set_yticks(range(len(models)), [model.replace("$", r"\$") for model in models])
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("accuracy, %")
    axes.grid(axis="x", color="#d8dee4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for position in range(1, len(models)):
        axes.axhline(position - 0.5, color="#d8dee4", linewidth=0.5)
    for side in axes.spines.values():
        side.set_visible(False)
