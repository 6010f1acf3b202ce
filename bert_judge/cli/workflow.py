"""The commands on a configuration: `run` and `audit` start Snakemake on the workflow of this library, `plan` and `check` do not.

Snakemake's own summary tells which jobs are up to date; `plan` translates it into rows, tokens and GPU hours.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
import yaml
from rich.table import Table

from bert_judge.cli.options import DataFolder, Settings, parse_settings, read_config
from bert_judge.cli.terminal import console, echo, format_number, log, make_table
from bert_judge.config import files as config_files
from bert_judge.plan import build_plan
from bert_judge.plan.graph import TARGETS
from bert_judge.runtime.errors import ConfigError, InputError, describe_missing, suggest

if TYPE_CHECKING:
    from bert_judge.evaluation.forecast import PendingWork

LOCAL_PROFILE = "default"
HEADER = "output_file\tdate\trule\t"
# Rules that write several files into one folder; for all other rules, each output is a job.
FOLDER_RULES = ("merge_dataset", "train_judge", "fit_judge", "build_standings", "build_ranks")
# Folders of results/ in the order in which a run fills them; other files come last.
FOLDERS = ("prepared", "tasks", "answer_batches", "candidates", "label_batches", "pairs", "labels", "datasets", "judges", "scores")
AUDIT_FOLDER = Path("results/audit")


def run(
    config: Annotated[Path, typer.Argument(help="A configuration: your file, or one of bert-judge, such as configs/paper.yaml.")],
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
    snakemake: Annotated[str, typer.Option(help="More options of Snakemake, in one text: '--forcerun label'.")] = "",
) -> None:
    """Build everything that a configuration asks for and that is missing or out of date; results go to results/ in this folder."""
    command = snakemake_command(
        *(config, targets or []),
        cores=cores,
        dry_run=dry_run,
        settings=settings,
        data=data,
        directory=directory,
        profile=profile,
        snakemake=snakemake,
    )
    if not dry_run and not snakemake:
        check_lock(directory or Path())
    sys.stdout.flush()
    # Snakemake replaces this process: signals and the exit code are its own.
    os.execv(command[0], command)


def snakemake_command(
    config: Path,
    targets: Sequence[str],
    *,
    cores: int | None = None,
    dry_run: bool = False,
    settings: Sequence[str] | None = None,
    data: Path | None = None,
    directory: Path | None = None,
    profile: str = LOCAL_PROFILE,
    snakemake: str = "",
) -> list[str]:
    """Return the command line of Snakemake; the arguments are the options of `run`."""
    if importlib.util.find_spec("snakemake") is None:
        raise InputError(describe_missing("snakemake") or "")
    output = (directory or Path()).absolute()
    existing = next(path for path in (output, *output.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing}: is read-only, and results/ goes there; run this in another folder")
    folder = config_files.workflow_folder()
    files, targets = split_targets(config, targets)
    overrides = [*(settings or []), *([f"data={data.resolve()}"] if data else [])]
    if not any(place.is_dir() for place in (Path(profile), Path("profiles", profile), folder / "profiles" / profile)):
        names = ", ".join(sorted(place.name for place in (folder / "profiles").iterdir()))
        raise InputError(f"{profile}: no such profile; name a folder with a config.yaml, or one of bert-judge: {names}")
    _, raw = read_config(files, settings, data)
    if directory is None:
        # Snakemake reports the same errors with its own lines around them.
        build_plan(raw, files)
    # Another profile usually sends jobs to other machines, and says how many.
    count = [] if cores is None and profile != LOCAL_PROFILE else ["--cores", str(cores or "all")]
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(folder / "Snakefile"), "--workflow-profile", profile, *count),
        *(["--dry-run"] if dry_run else []),
        *(["--directory", str(directory)] if directory else []),
        *shlex.split(snakemake),
        *("--configfile", *map(str, files)),
        *(["--config", *overrides] if overrides else []),
        # Several options accept any number of values, so targets follow `--`.
        *("--", *targets),
    ]


def check_lock(folder: Path) -> None:
    """Refuse a folder in which another run is at work, or a killed one left its lock. Raises InputError: names the process."""
    if not any((folder / ".snakemake" / "locks").glob("*")):
        return
    # A dependency of Snakemake.
    import psutil

    for process in psutil.process_iter(["cwd", "cmdline"]):
        if process.info["cwd"] == str(folder.resolve()) and any("snakemake" in part for part in process.info["cmdline"] or ()):
            raise InputError(
                f"{folder.resolve()}: another run (process {process.pid}) is at work in this folder; wait for it to end, "
                f"stop it with kill {process.pid}, or name another folder with --directory"
            )
    raise InputError(
        f"{folder.resolve()}: is locked by a run that was killed, or that runs on another machine; if none does, "
        "remove the lock by repeating the command once with --snakemake=--unlock"
    )


def split_targets(config: Path, targets: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the configuration files, which may be among the targets, and the other targets.

    Raises:
        InputError: a file is missing, or there is no rule of a target's name.
    """
    folder = config_files.workflow_folder()
    more = [target for target in targets if target.endswith((".yaml", ".yml"))]
    files = [config_files.find(path).resolve() for path in [config, *map(Path, more)]]
    rules = "".join(path.read_text("utf-8") for path in (folder / "rules").glob("*.smk"))
    others = [target for target in targets if target not in more]
    for target in others:
        if "/" not in target and target not in {*TARGETS, *re.findall(r"\b(?:rule|as) (\w+)", rules)}:
            raise InputError(f"{target}: no such target; {suggest(target, TARGETS)}")
    return files, others


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
        screen.print("extrapolated from finished tables of the same model or judge")
        screen.print(
            f"≈: a rough estimate, because none is finished: {QUESTION_TOKENS} tokens per question, {ANSWER_TOKENS} per answer, "
            "the number of parameters in the model's name, one H100"
        )
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


def check(
    files: Annotated[list[Path], typer.Argument(help="Configuration files; later ones override earlier ones.")],
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


def audit(
    config: Annotated[Path, typer.Argument(help="A configuration with an audit block.")],
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", help="Filled sheet; the same as audit.labels. Repeatable: rounds and annotators."),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; default: all of this machine.")] = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Do one round of an audit: read the filled sheets, print who is better and what to label next, and draw the next sheet.

    The same as bert-judge run CONFIG audit, with the results printed.
    """
    overrides = list(settings or [])
    if labels:
        block = {**(parse_settings(settings, None).get("audit") or {}), "labels": [str(path) for path in labels]}
        overrides.append(f"audit={yaml.safe_dump(block, default_flow_style=True, width=10**6).strip()}")
    command = snakemake_command(config, ["audit"], cores=cores, settings=overrides, data=data)
    if not read_config([config], overrides)[1].get("audit"):
        raise InputError(f"{config}: no audit block; add audit: {{judge: NAME}}, with a judge of scorers")
    sys.stdout.flush()
    # Snakemake's own lines go to stderr.
    if code := subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise typer.Exit(code)
    from bert_judge.cli.standings import print_audit

    if (AUDIT_FOLDER / "corrected_accuracy.parquet").is_file():
        print_audit(AUDIT_FOLDER)
    sheet = AUDIT_FOLDER / "sheet.html"
    log(f"next answers to label: {sheet} (or sheet.csv); then repeat with --labels FILE added to the earlier ones")
