"""`bert-judge cost`: what the judges' verdicts cost, in a terminal."""

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
        files: configuration files that hold the prices.
        screen: where to; the terminal when left out.

    Raises:
        InputError: no such path, a file that is no label table, or a faulty configuration.
    """
    judges = config.parse(config_files.load(files)).judges if files else {}
    models = {name: getattr(judge, "model", None) for name, judge in judges.items()}
    prices = {name: model.price for name, model in models.items() if model and model.price}
    made = cost.judge_costs(_files(paths), prices)
    table = Table("judge", title="Per 1,000 verdicts", title_justify="left")
    for name in ("verdicts", "invalid", "tokens read", "tokens written", "cost", "seconds"):
        table.add_column(name, justify="right")
    for row in made.to_dict("records"):
        per_mille = [_number(row[name], digits) for name, digits in (("prompt_tokens", 0), ("completion_tokens", 0), ("cost", 4))]
        table.add_row(row["judge"], f"{row['verdicts']:,}", f"{row['invalid']:.1%}", *per_mille, _number(row["seconds"], 1))
    (screen or console()).print(table)


def _files(paths: Sequence[Path]) -> list[Path]:
    """The tables themselves; of a folder all that are in it."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{path}: holds no label tables (.parquet); name a folder such as results/labels")
        found += inside
    return found


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"
