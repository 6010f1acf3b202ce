"""The standings for other programs: Markdown for a README, CSV for a spreadsheet, LaTeX for a paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import bare_percent, known, percent
from bert_judge.report.plot import save_standings_plot
from bert_judge.runtime.errors import InputError

FORMATS = ("markdown", "csv", "latex")


def exported(path: str | Path, form: str, task: str | None = None) -> str:
    """The standings as text that ends with a line break.

    Args:
        path: `standings.parquet` of a run.
        form: out of FORMATS. CSV has a row per task, model and judge with every number; the others a row per model and a column per
            judge, gold first, with accuracies in percent.
        task: only this one; when left out, CSV has all, and the others all tasks together.

    Raises:
        InputError: no such file, not the standings of a run, no such task or format.
    """
    path = Path(path)
    if form not in FORMATS:
        raise InputError(f"--format {form}: there are {', '.join(FORMATS)}")
    standings = tables.read(path, tables.STANDINGS)
    if task is not None:
        chosen = standings[(standings["level"] == "task") & (standings["task"] == task)]
        if chosen.empty:
            raise InputError(f"{path}: no task {task!r} in it; there are: {', '.join(_tasks(standings))}")
    else:
        chosen = standings if form == "csv" else standings[standings["level"] == "all"]
    if form == "csv":
        return chosen.to_csv(index=False)
    wide = _wide(chosen, json.loads(tables.provenance(path).get("spec", "{}")).get("gold"))
    if form == "markdown":
        return wide.to_markdown(index=False, disable_numparse=True) + "\n"
    return wide.to_latex(index=False, escape=True)


def write_exports(standings: Path, csv: Path, markdown: Path, latex: Path, picture: Path) -> None:
    """All forms as files, and the picture; the picture of no standings is empty."""
    for form, path in (("csv", csv), ("markdown", markdown), ("latex", latex)):
        with tables.atomic(path) as temporary:
            temporary.write_text(exported(standings, form), encoding="utf-8")
    if tables.read(standings, tables.STANDINGS).empty:
        with tables.atomic(picture) as temporary:
            temporary.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>\n', encoding="utf-8")
    else:
        save_standings_plot(standings, picture)


def _tasks(standings: pd.DataFrame) -> list[str]:
    return sorted(standings["task"][standings["level"] == "task"].unique())


def _wide(rows: pd.DataFrame, gold: str | None) -> pd.DataFrame:
    """A row per model, the best first under the first judge; texts."""
    judges = sorted(dict.fromkeys(rows["judge"]), key=lambda judge: judge != gold)
    cells = {(row.model, row.judge): row for row in rows.itertuples()}
    first = rows[rows["judge"] == judges[0]] if judges else rows
    made = {"model": list(first["model"])}
    for judge in judges:
        made[judge] = [_cell(cells[model, judge]) for model in first["model"]]
    return pd.DataFrame(made)


def _cell(row: Any) -> str:
    if not known(row.accuracy):
        return "–"
    said = f"{bare_percent(row.accuracy)} [{bare_percent(row.low)}, {bare_percent(row.high)}]"
    return f"{said}, {percent(row.invalid)} invalid" if row.invalid else said
