"""`bert-judge cost`: print the cost of the judges' verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert_judge import config
from bert_judge.cli.terminal import console
from bert_judge.config import files as config_files
from bert_judge.evaluation import cost
from bert_judge.runtime.errors import InputError


def show(paths: Sequence[Path], files: Sequence[Path] = (), screen: Console | None = None) -> None:
    """Print one line per judge.

    Args:
        paths: label tables, or folders of them.
        files: configuration files with the prices.
        screen: console to print to. Default: the terminal.

    Raises:
        InputError: no such path, not a label table, or an invalid configuration.
    """
    judges = config.parse(config_files.load(files)).judges if files else {}
    models = {name: getattr(judge, "model", None) for name, judge in judges.items()}
    prices = {name: model.price for name, model in models.items() if model and model.price}
    costs = cost.judge_costs(_label_tables(paths), prices)
    table = Table("judge", title="Per 1,000 verdicts", title_justify="left")
    for name in ("verdicts", "invalid", "tokens read", "tokens written", "cost", "seconds"):
        table.add_column(name, justify="right")
    for row in costs.to_dict("records"):
        per_mille = [_number(row[name], digits) for name, digits in (("prompt_tokens", 0), ("completion_tokens", 0), ("cost", 4))]
        table.add_row(row["judge"], f"{row['verdicts']:,}", f"{row['invalid']:.1%}", *per_mille, _number(row["seconds"], 1))
    (screen or console()).print(table)


def _label_tables(paths: Sequence[Path]) -> list[Path]:
    """Expand folders into the label tables they contain."""
    files: list[Path] = []
    for path in paths:
        tables_in_path = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not tables_in_path:
            raise InputError(f"{path}: holds no label tables (.parquet); name a folder such as results/labels")
        files += tables_in_path
    return files


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"
