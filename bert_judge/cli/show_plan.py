"""`bert-judge plan`: what a run would do and what it would cost, before anything is submitted.

Which jobs there are and which are up to date, Snakemake says itself; here stands only what that means in answers and hours.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert_judge import plan
from bert_judge.cli.terminal import console
from bert_judge.config import files as config_files
from bert_judge.evaluation.forecast import PendingWork, forecast
from bert_judge.runtime.errors import InputError

HEADER = "output_file\tdate\trule\t"
# Rules that write several files in one folder; of all others each output is a job.
WHOLE_FOLDERS = ("merge_dataset", "train_judge", "train_pair_judge", "tune_pair_judge", "build_standings", "build_ranks")
# Folders of the results in the order in which a run fills them; what lies beside them comes last.
FOLDERS = ("prepared", "tasks", "answer_batches", "candidates", "label_batches", "pairs", "labels", "datasets", "judges", "scores")


@dataclass(frozen=True)
class Output:
    """A file that a run of the configuration makes or has made."""

    path: str
    rule: str
    pending: bool


def show(files: Sequence[Path], targets: Sequence[str] = (), data: Path | None = None, screen: Console | None = None) -> None:
    """Print the jobs per rule, and per model and judge what is still to do.

    Args:
        files: configuration files; none: the default one.
        targets: as for Snakemake; none: everything.
        data: folder of the imported files.
        screen: where to; the terminal when left out.

    Raises:
        InputError: the configuration has faults, or Snakemake cannot plan, with its own words.
    """
    screen = screen or console()
    raw = config_files.load(files or [Path("config.yaml")])
    if data is not None:
        raw["data"] = str(data)
    made = plan.make(raw, files)
    outputs = read(summary(files, targets, data))
    screen.print(jobs_table(outputs))
    works = forecast(made, [output.path for output in outputs if output.pending])
    if works:
        screen.print(costs_table(works))
        screen.print("–: not known: no finished table of the model or judge to measure, or a task that is not counted yet")


def summary(files: Sequence[Path], targets: Sequence[str], data: Path | None) -> str:
    """What Snakemake says of every file of a run; nothing is run."""
    command = [sys.executable, "-m", "snakemake", *targets, "--summary", "--cores", "1"]
    command += ["--configfile", *map(str, files)] if files else []
    command += ["--config", f"data={data}"] if data is not None else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or HEADER not in done.stdout:
        reason = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise InputError(f"snakemake cannot plan this run: {' '.join(reason[-3:]) or 'it says nothing'}")
    return done.stdout


def read(text: str) -> list[Output]:
    """The lines of a summary."""
    rows = [line.split("\t") for line in text[text.index(HEADER) :].splitlines()[1:]]
    return [Output(row[0], row[2], row[-1] == "update pending") for row in rows if len(row) >= 6]


def jobs_table(outputs: Iterable[Output]) -> Table:
    """Jobs per rule, in the order in which a run meets them."""
    jobs: dict[str, dict[str, bool]] = {}
    for output in sorted(outputs, key=_stage):
        name = str(Path(output.path).parent) if output.rule in WHOLE_FOLDERS else output.path
        of_rule = jobs.setdefault(output.rule, {})
        of_rule[name] = of_rule.get(name, False) or output.pending
    table = Table("rule", title="Jobs", title_justify="left")
    table.add_column("to do", justify="right")
    table.add_column("up to date", justify="right")
    for rule, found in jobs.items():
        open_jobs = sum(found.values())
        table.add_row(rule, f"{open_jobs:,}", f"{len(found) - open_jobs:,}")
    every = [pending for found in jobs.values() for pending in found.values()]
    table.add_section()
    table.add_row("all", f"{sum(every):,}", f"{len(every) - sum(every):,}")
    return table


def _stage(output: Output) -> int:
    folder = output.path.split("/")[1]
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def costs_table(works: Iterable[PendingWork]) -> Table:
    """What the models and judges still have to do."""
    table = Table("model or judge", "gives", title="Still to be asked, at the measured rates", title_justify="left")
    for name in ("tables", "rows", "tokens read", "tokens written", "GPUs", "GPU hours"):
        table.add_column(name, justify="right")
    for work in works:
        tokens = [_number(work.total(rate)) for rate in (work.rates.prompt_tokens, work.rates.completion_tokens)]
        rows, gpus = _number(work.rows), str(work.gpus or "server")
        table.add_row(work.component, work.output, f"{work.tables:,}", rows, *tokens, gpus, _number(work.gpu_hours, 2))
    return table


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
