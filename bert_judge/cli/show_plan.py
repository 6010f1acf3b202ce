"""`bert-judge plan`: print what a run would do and cost.

Snakemake's own summary tells which jobs are up to date; this module translates it into rows, tokens and GPU hours.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.table import Table

from bert_judge.cli.options import DataFolder, Settings, read_config
from bert_judge.cli.run import split_targets
from bert_judge.cli.terminal import console, format_number, make_table
from bert_judge.config import files as config_files
from bert_judge.evaluation.forecast import ANSWER_TOKENS, QUESTION_TOKENS, PendingWork, forecast
from bert_judge.plan import build_plan
from bert_judge.runtime.errors import InputError

HEADER = "output_file\tdate\trule\t"
# Rules that write several files into one folder; for all other rules, each output is a job.
FOLDER_RULES = ("merge_dataset", "train_judge", "train_pair_judge", "build_standings", "build_ranks")
# Folders of results/ in the order in which a run fills them; other files come last.
FOLDERS = ("prepared", "tasks", "answer_batches", "candidates", "label_batches", "pairs", "labels", "datasets", "judges", "scores")


ASSUMPTIONS = (
    f"{QUESTION_TOKENS} tokens per question, {ANSWER_TOKENS} per answer, the number of parameters in the model's name, one H100"
)


class Output(NamedTuple):
    """An output file of a run, finished or pending."""

    path: str
    rule: str
    pending: bool


def plan(
    config: Annotated[Path, typer.Argument(help="A configuration: your file, or one of bert-judge, such as configs/paper.yaml.")],
    targets: Annotated[list[str] | None, typer.Argument(help="As for run; default: everything.")] = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Print what a run would do: jobs per rule, and the remaining rows, tokens and GPU hours per model and judge."""
    screen = console()
    configs, targets = split_targets(config, targets or [])
    files, raw = read_config(configs, settings, data)
    planned = build_plan(raw, files)
    outputs = parse_summary(summary(files, targets, [*(settings or []), *([f"data={data}"] if data else [])]))
    screen.print(jobs_table(outputs))
    works = forecast(planned, [output.path for output in outputs if output.pending])
    if works:
        screen.print(costs_table(works))
        screen.print("extrapolated from finished tables of the same model or judge")
        screen.print(f"≈: a rough estimate, because none is finished: {ASSUMPTIONS}")
        screen.print("–: unknown, because the task is not built yet, or the model's name does not contain its number of parameters")


def summary(files: Sequence[Path], targets: Sequence[str], settings: Sequence[str] = ()) -> str:
    """Return the output of `snakemake --summary`."""
    snakefile = config_files.workflow_folder() / "Snakefile"
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", "--cores", "1", "--snakefile", str(snakefile)]
    command += ["--configfile", *map(str, files)]
    command += ["--config", *settings] if settings else []
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode or HEADER not in process.stdout:
        reason = [line for line in (process.stderr + process.stdout).splitlines() if line.strip()]
        raise InputError(f"snakemake cannot plan this run: {' '.join(reason[-3:]) or 'no message'}")
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
