"""`bert-judge attack`: run the attack suite on one judge and print the results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert_judge import tables
from bert_judge.cli.terminal import console
from bert_judge.evaluation.attacks.suite import AttackTables, attack_judge
from bert_judge.labels.judge_loading import find_judge
from bert_judge.plan import ATTACKS
from bert_judge.runtime.errors import InputError

MAX_CHARS = 160
HEADINGS = {"attack": "Attacks: called correct, in %", "benign_perturbation": "Benign perturbations: called incorrect, in %"}


def show(
    judge: str, task: str, rows: int, seed: int, files: Sequence[Path], output: Path | None, screen: Console | None = None
) -> None:
    """Attack a judge; print its error rates and some answers that it misjudged.

    Args:
        judge: folder of a trained judge, or name of a judge of the configuration.
        task: name of a task whose table is in results/tasks, or path of such a table.
        files: configuration files, for a judge's name.
        output: folder for the tables; default: results/attacks/trials/{judge}/{task}.

    Raises:
        InputError: the judge or table does not exist, or the judge cannot be attacked.
    """
    table = _table_path(task)
    # A folder needs no configuration.
    config = [] if Path(judge).is_dir() else files
    reference = find_judge(judge, config_files=config, model=ATTACKS, task=table.stem)
    block = reference.kind.config.model_validate(reference.context.block, by_alias=True)
    if problem := reference.kind.attack_problem(block):
        raise InputError(f"--judge {judge}: {problem}")
    folder = output or Path("results/attacks/trials", reference.name, table.stem)
    with closing(reference.load()) as named_judge:
        result = attack_judge(named_judge.judge, reference.context.spec, table, rows, seed, folder)
    _print(result, folder, screen or console())


def _table_path(task: str) -> Path:
    path = Path(task) if task.endswith(".parquet") else Path("results/tasks", f"{task}.parquet")
    if not path.is_file():
        raise InputError(f"{path}: no such file; build it with snakemake --cores 1 {path}, or name another task")
    return path


def _print(result: AttackTables, folder: Path, screen: Console) -> None:
    rates = tables.read(result.rates, tables.ATTACK_RATES)
    for kind, heading in HEADINGS.items():
        table = Table("theme", "family", title=heading, title_justify="left")
        for name in ("answers", "error_rate", "95% interval", "invalid"):
            table.add_column(name, justify="right")
        for row in rates[(rates["kind"] == kind) & (rates["level"] != "theme")].to_dict("records"):
            percentages = [f"{100 * row[name]:.1f}" for name in ("error_rate", "low", "high", "invalid")]
            family = row["group"] if row["level"] == "family" else "all"
            table.add_row(
                row["theme"] if row["level"] == "family" else "",
                family,
                f"{row['n']:,}",
                percentages[0],
                f"{percentages[1]} to {percentages[2]}",
                percentages[3],
            )
        screen.print(table)
    for row in tables.read(result.examples, tables.ATTACK_EXAMPLES).drop_duplicates("family").to_dict("records"):
        text = " ".join(row["candidate"].split())[:MAX_CHARS]
        screen.print(f"{row['family']}: {text!r} for {row['references'][0]!r:.60} is {row['verdict']} ({row['score']:.2f})")
    screen.print(f"Tables: {folder}")
