"""Export standings and ranks: Markdown for a README, CSV for a spreadsheet, LaTeX for a paper."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import TABLE_FORMATS, estimate_cell, format_table, is_known, percent, pivot_models
from bert_judge.report.plot import save_standings_plot
from bert_judge.runtime.errors import InputError


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
        rows = _models_by_judge(rows, json.loads(tables.provenance(path).get("spec", "{}")).get("gold"))
    return format_table(rows, form)


def write_exports(standings: Path, csv: Path, markdown: Path, latex: Path, plot: Path) -> None:
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
        f"{name}\n\n{format_table(_models_by_judge(rows, None, _rank_cell), 'markdown')}"
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


def _models_by_judge(rows: pd.DataFrame, gold: str | None, cell: Any = _accuracy_cell) -> pd.DataFrame:
    """Arrange rows as one row per model, best first under the first judge, and one column per judge, gold first."""
    judges = sorted(dict.fromkeys(rows["judge"]), key=lambda judge: judge != gold)
    ordered = rows.sort_values("judge", key=lambda column: column.map(judges.index), kind="stable")
    return pivot_models(rows, list(dict.fromkeys(ordered["model"])), "judge", judges, cell)
