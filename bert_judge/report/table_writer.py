"""Write tables as Markdown, CSV or LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from bert_judge.report.format import MISSING, is_known, percent_number

FORMATS = ("markdown", "csv", "latex")


def format_table(table: pd.DataFrame, form: str) -> str:
    """Return a table in one of `FORMATS`, ending with a line break; all columns but the first are right-aligned."""
    if form == "csv":
        return table.to_csv(index=False, lineterminator="\n")
    alignment = ["left", *["right"] * (len(table.columns) - 1)]
    if form == "markdown":
        escaped = table.astype(str).replace(r"\|", r"\\|", regex=True).rename(columns=lambda name: str(name).replace("|", r"\|"))
        return escaped.to_markdown(index=False, disable_numparse=True, colalign=alignment if len(table) else None) + "\n"
    latex = table.to_latex(index=False, escape=True, column_format="".join(side[0] for side in alignment))
    return latex.replace(MISSING, "--")


def pivot_models(
    rows: pd.DataFrame, models: Sequence[str], column: str, names: Sequence[str], cell: Callable[[Any], str]
) -> pd.DataFrame:
    """Arrange rows as a table with one row per model and one text column per name in `column`; missing cells show a dash."""
    cells = {(row.model, getattr(row, column)): cell(row) for row in rows.itertuples()}
    return pd.DataFrame({"model": list(models)} | {name: [cells.get((model, name), MISSING) for model in models] for name in names})


def estimate_cell(value: Any, low: Any, high: Any) -> str:
    """Format an estimate with its interval in percent, as `75.0 [59.8, 85.8]`."""
    return f"{percent_number(value)} [{percent_number(low)}, {percent_number(high)}]" if is_known(value) else MISSING
