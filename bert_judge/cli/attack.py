"""`bert-judge attack`: run the attack suite on one judge and print the results."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from bert_judge import tables
from bert_judge.cli.terminal import console, make_table
from bert_judge.evaluation.attacks.suite import AttackTables, attack_judge
from bert_judge.labels.judge_loading import find_judge
from bert_judge.plan import ATTACKS
from bert_judge.runtime.errors import InputError

MAX_CHARS = 160
HEADINGS = {"attack": "Attacks: called correct, in %", "benign_perturbation": "Benign perturbations: called incorrect, in %"}


def attack(
    judge: Annotated[str, typer.Option(help="Folder of a trained judge, or name of a judge in the configuration.")],
    task: Annotated[str, typer.Option("--task", "-t", help="Task to take questions from: a name, or the path of its table.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of questions.")] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the question sample and of the attacks.")] = 0,
    configfile: Annotated[list[Path], typer.Option("--configfile", "-c", help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
    output: Annotated[Path | None, typer.Option(help="Output folder. Default: results/attacks/trials/JUDGE/TASK.")] = None,
) -> None:
    """Attack a judge with incorrect answers that claim to be correct, and with correct answers in unusual formats."""
    table = _table_path(task)
    # A folder needs no configuration.
    config = [] if Path(judge).is_dir() else configfile
    reference = find_judge(judge, config_files=config, model=ATTACKS, task=table.stem)
    block = reference.kind.config.model_validate(reference.context.block, by_alias=True)
    if problem := reference.kind.attack_problem(block):
        raise InputError(f"--judge {judge}: {problem}")
    folder = output or Path("results/attacks/trials", reference.name, table.stem)
    with closing(reference.load()) as named_judge:
        result = attack_judge(named_judge.judge, reference.context.spec, table, rows, seed, folder)
    _print(result, folder)


def _table_path(task: str) -> Path:
    path = Path(task) if task.endswith(".parquet") else Path("results/tasks", f"{task}.parquet")
    if not path.is_file():
        raise InputError(f"{path}: no such file; build it with bert-judge run CONFIG {path}, or name another task")
    return path


def _print(result: AttackTables, folder: Path) -> None:
    """Print the error rates, and one answer per family that the judge got wrong."""
    screen, rates = console(), tables.read(result.rates, tables.ATTACK_RATES)
    for kind, heading in HEADINGS.items():
        table = make_table("theme", "family", numbers=("answers", "error_rate", "95% interval", "invalid"), title=heading)
        for row in rates[(rates["kind"] == kind) & (rates["level"] != "theme")].to_dict("records"):
            rate, low, high, invalid = (f"{100 * row[name]:.1f}" for name in ("error_rate", "low", "high", "invalid"))
            theme, family = (row["theme"], row["group"]) if row["level"] == "family" else ("", "all")
            table.add_row(theme, family, f"{row['n']:,}", rate, f"{low} to {high}", invalid)
        screen.print(table)
    for row in tables.read(result.examples, tables.ATTACK_EXAMPLES).drop_duplicates("family").to_dict("records"):
        text = " ".join(row["candidate"].split())[:MAX_CHARS]
        screen.print(f"{row['family']}: {text!r} for {row['references'][0]!r:.60} is {row['verdict']} ({row['score']:.2f})")
    screen.print(f"Tables: {folder}")
