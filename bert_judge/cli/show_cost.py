"""`bert-judge cost`: print the cost of the judges' verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bert_judge.cli.terminal import console, format_number, make_table
from bert_judge.config import files, parse
from bert_judge.evaluation.cost import judge_costs
from bert_judge.runtime.errors import InputError


def cost(
    labels: Annotated[list[Path], typer.Argument(help="Label tables, or folders of them such as results/labels/teacher.")],
    configfile: Annotated[list[Path] | None, typer.Option("--configfile", "-c", help="Configuration with the prices.")] = None,
) -> None:
    """Print tokens, cost and seconds per 1,000 verdicts of each judge."""
    judges = parse(files.load(configfile)).judges if configfile else {}
    models = {name: getattr(judge, "model", None) for name, judge in judges.items()}
    prices = {name: model.price for name, model in models.items() if model and model.price}
    numbers = ("verdicts", "invalid", "tokens read", "tokens written", "cost", "seconds")
    table = make_table("judge", numbers=numbers, title="Per 1,000 verdicts")
    for row in judge_costs(_label_tables(labels), prices).to_dict("records"):
        digits = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 4, "seconds": 1}
        cells = [format_number(row[name], number) for name, number in digits.items()]
        table.add_row(row["judge"], f"{row['verdicts']:,}", f"{row['invalid']:.1%}", *cells)
    console().print(table)


def _label_tables(paths: list[Path]) -> list[Path]:
    """Expand folders into the label tables they contain."""
    tables: list[Path] = []
    for path in paths:
        tables_in_path = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not tables_in_path:
            raise InputError(f"{path}: holds no label tables (.parquet); name a folder such as results/labels")
        tables += tables_in_path
    return tables
