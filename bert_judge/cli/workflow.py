"""The commands on a configuration: `run` starts Snakemake on the workflow of this library, `plan` and `check` do not.

Snakemake's own summary tells which jobs are up to date; `plan` translates it into rows, tokens and GPU hours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.table import Table

from bert_judge.cli.options import DataFolder, Settings, parse_settings, read_config
from bert_judge.cli.snakemake_command import LOCAL_PROFILE, check_lock, snakemake_command, split_targets
from bert_judge.cli.terminal import console, echo, format_number, make_table
from bert_judge.config import files as config_files
from bert_judge.plan import build_plan
from bert_judge.runtime.errors import ConfigError, InputError

if TYPE_CHECKING:
    from bert_judge.evaluation.forecast import PendingWork

Config = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="A configuration: your file, or one of bert-judge, such as configs/paper.yaml."),
]
HEADER = "output_file\tdate\trule\t"
# Rules that write several files into one folder; for all other rules, each output is a job.
FOLDER_RULES = ("merge_dataset", "train_judge", "fit_judge", "build_standings", "build_ranks")
# Folders of results/ in the order in which a run fills them; other files come last.
FOLDERS = ("prepared", "tasks", "answer_batches", "candidates", "label_batches", "pairs", "labels", "datasets", "judges", "scores")


def run(
    config: Config,
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="What to build: scores, report, …, or files in results/. YAML files override keys of CONFIG."),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; default: all of this machine.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print what would run, and why.")] = False,
    settings: Settings = None,
    data: DataFolder = None,
    directory: Annotated[Path | None, typer.Option(help="Folder that results/ and logs/ go to; default: this one.")] = None,
    profile: Annotated[str, typer.Option(help="Name or folder of a Snakemake profile: default, slurm, …")] = LOCAL_PROFILE,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print Snakemake's own text, not only the progress.")] = False,
    unlock: Annotated[bool, typer.Option("--unlock", help="Remove the lock that a killed run left, and run nothing.")] = False,
    snakemake: Annotated[str, typer.Option(help="More options of Snakemake, in one text: '--forcerun label'.")] = "",
) -> None:
    """Build everything that a configuration asks for and that is missing or out of date; results go to results/ in this folder.

    Snakemake's own text goes to .snakemake/log.
    """
    command = snakemake_command(
        *(config, targets or []),
        cores=cores,
        dry_run=dry_run,
        settings=settings,
        data=data,
        directory=directory,
        profile=profile,
        verbose=verbose,
        snakemake=f"--unlock {snakemake}" if unlock else snakemake,
    )
    if not dry_run and not unlock and not snakemake:
        check_lock(directory or Path())
    sys.stdout.flush()
    # Snakemake replaces this process: signals and the exit code are its own.
    os.execv(command[0], command)


class Output(NamedTuple):
    """An output file of a run, finished or pending."""

    path: str
    rule: str
    pending: bool


def plan(
    config: Config,
    targets: Annotated[list[str] | None, typer.Argument(help="As for run; default: everything.")] = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Print what a run would do: jobs per rule, and the remaining rows, tokens and GPU hours per model and judge."""
    # Lazy import: it loads pandas, which the other commands do not need.
    from bert_judge.evaluation.forecast import ANSWER_TOKENS, QUESTION_TOKENS, forecast

    screen = console()
    configs, targets = split_targets(config, targets or [])
    files, raw = read_config(configs, settings, data)
    planned = build_plan(raw, files)
    outputs = parse_summary(summary(files, targets, [*(settings or []), *([f"data={data}"] if data else [])]))
    screen.print(jobs_table(outputs))
    works = forecast(planned, [output.path for output in outputs if output.pending])
    if works:
        screen.print(costs_table(works))
        screen.print(
            "extrapolated from finished tables of the same model or judge; a task that is not built has its published size"
        )
        screen.print(
            f"≈: a rough estimate, because none is finished: {QUESTION_TOKENS} tokens per question, {ANSWER_TOKENS} per answer, "
            "the number of parameters in the model's name, one H100"
        )
        screen.print(
            "–: unknown: the hardware of a server, a task without a published size, or a model without its size in the name"
        )


def summary(files: Sequence[Path], targets: Sequence[str], settings: Sequence[str] = ()) -> str:
    """Return the output of `snakemake --summary`."""
    snakefile = config_files.workflow_folder() / "Snakefile"
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", "--cores", "1", "--snakefile", str(snakefile)]
    command += ["--configfile", *map(str, files)]
    command += ["--config", *settings] if settings else []
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode or HEADER not in process.stdout:
        reason = [line for line in (process.stderr + process.stdout).splitlines() if line.strip()]
        raise InputError(f"snakemake cannot plan this run: {' '.join(reason[-3:]) or f'it ended with status {process.returncode}'}")
    return process.stdout


def parse_summary(text: str) -> list[Output]:
    """Parse the output of `snakemake --summary`."""
    rows = [line.split("\t") for line in text[text.index(HEADER) :].splitlines()[1:]]
    return [Output(row[0], row[2], row[-1] == "update pending") for row in rows if len(row) >= 6]


def jobs_table(outputs: Iterable[Output]) -> Table:
    """Tabulate the jobs per rule, in the order of the stages."""
    jobs: dict[str, dict[str, bool]] = {}
    order = {folder: number for number, folder in enumerate(FOLDERS)}
    for output in sorted(outputs, key=lambda output: order.get(output.path.split("/")[1], len(FOLDERS))):
        name = str(Path(output.path).parent) if output.rule in FOLDER_RULES else output.path
        rule_jobs = jobs.setdefault(output.rule, {})
        rule_jobs[name] = rule_jobs.get(name, False) or output.pending
    table = make_table("rule", numbers=("to do", "up to date"), title="Jobs")
    for rule, rule_jobs in jobs.items():
        open_jobs = sum(rule_jobs.values())
        table.add_row(rule, f"{open_jobs:,}", f"{len(rule_jobs) - open_jobs:,}")
    all_pending = [pending for rule_jobs in jobs.values() for pending in rule_jobs.values()]
    table.add_section()
    table.add_row("all", f"{sum(all_pending):,}", f"{len(all_pending) - sum(all_pending):,}")
    return table


def costs_table(works: Iterable[PendingWork]) -> Table:
    """Tabulate the remaining work of models and judges."""
    numbers = ("tables", "rows", "tokens read", "tokens written", "GPUs", "GPU hours")
    table = make_table("model or judge", "produces", numbers=numbers, title="Remaining work")
    for work in works:
        totals = [(work.total(work.rates.prompt_tokens), 0), (work.total(work.rates.completion_tokens), 0), (work.gpu_hours, 2)]
        read, written, hours = (
            f"{'≈ ' if work.rates.estimated and total is not None else ''}{format_number(total, digits)}"
            for total, digits in totals
        )
        gpus = str(work.gpus or "server")
        table.add_row(work.component, work.output, f"{work.tables:,}", format_number(work.rows), read, written, gpus, hours)
    return table


def check(
    files: Annotated[list[Path], typer.Argument(metavar="CONFIG", help="Configurations; later ones override earlier ones.")],
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Validate a configuration as every run does before its first job; report every error, or count what a run would produce."""
    files = [config_files.find(path, must_exist=False) for path in files]
    # A file with a repeated key still has content to check; invalid YAML has none.
    raw = config_files.merge(files)
    if not raw:
        empty = f"{', '.join(map(str, files))}: empty; a configuration has models, tasks and judges"
        raise ConfigError(config_files.problems(files) or [empty])
    planned = build_plan(config_files.deep_merge(raw, parse_settings(settings, data)), files)
    counts = {
        "model": len(planned.models),
        "task": len(planned.tasks),
        "judge": len(planned.config.judges),
        "dataset": len(planned.config.datasets),
        "score table": len(planned.score_tables),
    }
    echo("OK: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()))
