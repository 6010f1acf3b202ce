"""`bert-judge attack`: run the attack suite on one judge and print the results."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from bert_judge import plan, tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.cli.options import DEFAULT_CONFIG, ConfigFiles, Question, References, find_columns, without_none
from bert_judge.cli.quickstart import configurations
from bert_judge.cli.terminal import console, format_percent, log, make_table
from bert_judge.evaluation.attacks.suite import AttackTables, attack_judge
from bert_judge.importers.frameworks import open_answers
from bert_judge.labels.judge_loading import find_judge
from bert_judge.plan import ATTACKS
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows
from bert_judge.tasks.build import build_task

MAX_CHARS = 160
HEADINGS = {"attack": "Attacks: called correct, in %", "benign_perturbation": "Benign perturbations: called incorrect, in %"}


def attack(
    judge: Annotated[
        str, typer.Option("--judge", "-j", help="Folder of a trained judge, general, a rule, or a judge of the configuration.")
    ] = GENERAL,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Task to take questions from: a name, or the path of its table.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option(help="Or a file to take questions and references from: CSV, JSON lines or parquet.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Number of questions.")] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the question sample and of the attacks.")] = 0,
    question: Question = None,
    references: References = None,
    configfile: ConfigFiles = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output folder. Default: results/attacks/trials/JUDGE/TASK.")
    ] = None,
) -> None:
    """Attack a judge with incorrect answers that claim to be correct, and with correct answers in unusual formats."""
    if (task is None) == (answers is None):
        raise InputError("set either --answers FILE, a file with questions and references, or --task NAME, a task of a run")
    name = answers.stem if answers else Path(str(task)).stem if str(task).endswith(".parquet") else str(task)
    reference = find_judge(judge, config_files=_config_files(judge, configfile), model=ATTACKS, task=name)
    block = reference.kind.config.model_validate(reference.context.block, by_alias=True)
    if problem := reference.kind.attack_problem(block):
        raise InputError(f"--judge {judge}: {problem}")
    folder = output or Path("results/attacks/trials", reference.name, name)
    for path in (folder / f"{field}.parquet" for field in AttackTables._fields):
        if path.is_file() and not tables.provenance(path):
            raise InputError(f"{path}: not a table of this program, and would be overwritten; choose another folder with -o")
    if answers is None:
        table = _task_table(str(task))
    else:
        table = folder / "questions.parquet"
        _build_questions(answers, without_none(question=question, references=references), table)
    with closing(reference.load()) as named_judge:
        result = attack_judge(named_judge.judge, reference.context.spec, table, rows, seed, folder)
    _print(result, folder)


def _config_files(judge: str, files: list[Path] | None) -> list[Path]:
    """Return the files of the configuration that a judge may be in; a folder or the shipped judge needs none."""
    if files is None and (Path(judge).is_dir() or judge == GENERAL or not DEFAULT_CONFIG.is_file()):
        return []
    return files or [DEFAULT_CONFIG]


def _task_table(task: str) -> Path:
    path = Path(task) if task.endswith(".parquet") else Path("results/tasks", f"{task}.parquet")
    if not path.is_file():
        fix = f"build it with bert-judge run CONFIG {path}, name another task, or a file with --answers FILE"
        raise InputError(f"{path}: no such file; {fix}")
    return path


def _build_questions(file: Path, named_columns: Mapping[str, str], output: Path) -> None:
    """Write the distinct questions of a file as a task table."""
    framework = None if named_columns else open_answers(file).framework
    columns = {} if framework else find_columns(open_rows(file), named_columns, ("question", "references"))
    log(f"{file}: {framework}" if framework else "; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    planned = plan.build_plan(configurations.questions(file, columns))
    build_task(planned.task_spec(configurations.FILE), output, planned.import_path(configurations.FILE))


def _print(result: AttackTables, folder: Path) -> None:
    """Print the error rates, and one answer per family that the judge got wrong."""
    screen, rates = console(), tables.read(result.rates, tables.ATTACK_RATES)
    for kind, heading in HEADINGS.items():
        table = make_table("theme", "family", numbers=("answers", "error rate", "95% interval", "invalid"), title=heading)
        for row in rates[(rates["kind"] == kind) & (rates["level"] != "theme")].to_dict("records"):
            rate, low, high, invalid = (format_percent(row[name]) for name in ("error_rate", "low", "high", "invalid"))
            theme, family = (row["theme"], row["group"]) if row["level"] == "family" else ("", "all")
            table.add_row(theme, family, f"{row['n']:,}", rate, f"{low} to {high}", invalid)
        screen.print(table)
    for row in tables.read(result.examples, tables.ATTACK_EXAMPLES).drop_duplicates("family").to_dict("records"):
        text = " ".join(row["candidate"].split())[:MAX_CHARS]
        screen.print(f"{row['family']}: {text!r} for {row['references'][0]!r:.60} is {row['verdict']} ({row['score']:.2f})")
    screen.print(f"Tables: {folder}")
