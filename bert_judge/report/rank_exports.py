"""The ranks by pairs for other programs: CSV with every number, Markdown with what a README needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import bare_percent, known


def write_rank_exports(ranks: Path, csv: Path, markdown: Path) -> None:
    """Write both forms.

    Raises:
        InputError: no such file, or not the ranks of a run.
    """
    table = tables.read(ranks, tables.RANKS)
    for path, text in ((csv, table.to_csv(index=False)), (markdown, _markdown(table))):
        with tables.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _markdown(table: pd.DataFrame) -> str:
    """A table per set: a row per model, the best first under the first judge, and a column per judge."""
    parts = []
    for name, rows in table[table["level"] == "all"].groupby("set", sort=False):
        cells = {(row.model, row.judge): row for row in rows.itertuples()}
        made: dict[str, list[str]] = {"model": list(dict.fromkeys(rows["model"]))}
        for judge in dict.fromkeys(rows["judge"]):
            made[judge] = [_cell(cells.get((model, judge))) for model in made["model"]]
        parts.append(f"{name}\n\n{pd.DataFrame(made).to_markdown(index=False, disable_numparse=True)}\n")
    return "\n".join(parts)


def _cell(row: Any) -> str:
    if row is None or not known(row.expected_win_rate):
        return "–"
    place = f"{row.rank}. " if known(row.rank) else ""
    low, high = bare_percent(row.expected_win_rate_low), bare_percent(row.expected_win_rate_high)
    return f"{place}{bare_percent(row.expected_win_rate)} [{low}, {high}]"
