"""`bert-judge attack` and `certify`: measure how a judge withstands attacks, and whether it is good enough on labelled answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bert_judge import plan, tables
from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli import configurations, options
from bert_judge.cli.terminal import console, echo, format_number, format_percent, log, make_table, shorten
from bert_judge.evaluation.attacks import AttackTables, attack_judge
from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.frameworks import PLAIN_COLUMNS, open_answers, read_answer_records
from bert_judge.labels.judge_loading import find_judge
from bert_judge.plan import ATTACKS
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import LocatedRecord
from bert_judge.tasks.build import build_task

if TYPE_CHECKING:
    from bert_judge.evaluation.audit.certificate import Certificate

MAX_CHARS = 160
ROLES = ("question", "references", "candidate")
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
    question: options.Question = None,
    references: options.References = None,
    config: options.ConfigFiles = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output folder. Default: results/attacks/trials/JUDGE/TASK.")
    ] = None,
) -> None:
    """Attack a judge with incorrect answers that claim to be correct, and with correct answers in unusual formats."""
    if (task is None) == (answers is None):
        raise InputError("set either --answers FILE, a file with questions and references, or --task NAME, a task of a run")
    name = answers.stem if answers else Path(str(task)).stem if str(task).endswith(".parquet") else str(task)
    reference = find_judge(judge, config_files=_config_files(judge, config), model=ATTACKS, task=name)
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
        _build_questions(answers, options.without_none(question=question, references=references), table)
    with closing(reference.load()) as named_judge:
        result = attack_judge(
            named_judge.judge, labels_spec=reference.context.spec, task_table=table, rows=rows, seed=seed, folder=folder
        )
    _print_attacks(result, folder)


def _config_files(judge: str, files: list[Path] | None) -> list[Path]:
    """Return the files of the configuration that a judge may be in; a folder or the shipped judge needs none."""
    if files is None and (Path(judge).is_dir() or judge == GENERAL or not options.DEFAULT_CONFIG.is_file()):
        return []
    return files or [options.DEFAULT_CONFIG]


def _task_table(task: str) -> Path:
    path = Path(task) if task.endswith(".parquet") else Path("results/tasks", f"{task}.parquet")
    if not path.is_file():
        fix = f"build it with bert-judge run CONFIG {path}, name another task, or a file with --answers FILE"
        raise InputError(f"{path}: no such file; {fix}")
    return path


def _build_questions(file: Path, named_columns: Mapping[str, str], output: Path) -> None:
    """Write the distinct questions of a file as a task table."""
    answers = open_answers(file, is_plain=bool(named_columns))
    columns = options.find_columns(answers, named_columns, ("question", "references"))
    log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    planned = plan.build_plan(configurations.questions(file, columns))
    build_task(planned.task_spec(configurations.FILE), output, planned.import_path(configurations.FILE))


def _print_attacks(result: AttackTables, folder: Path) -> None:
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
        text, reference = (shorten(cell, MAX_CHARS) for cell in (row["candidate"], row["references"][0]))
        screen.print(f"{row['family']}: {text!r} for {reference!r} is {row['verdict']} ({row['score']:.2f})")
    screen.print(f"Tables: {folder}")


def certify(
    file: Annotated[Path, typer.Argument(help="Labelled answers that the judge never saw, in a file that score reads.")],
    judge: Annotated[
        str, typer.Option("--judge", "-j", help="Folder of a judge, general, a rule, or another judge of score.")
    ] = GENERAL,
    min_sensitivity: Annotated[float, typer.Option(min=0.01, max=0.99, help="Lowest 95% bound of the sensitivity.")] = 0.8,
    min_specificity: Annotated[float, typer.Option(min=0.01, max=0.99, help="Lowest 95% bound of the specificity.")] = 0.8,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Name of the label column; several are several annotators. Repeatable.")
    ] = None,
    question: options.Question = None,
    references: options.References = None,
    candidate: options.Candidate = None,
    attacks: Annotated[Path | None, typer.Option(help="rates.parquet of bert-judge attack, to show the attack rate.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Write the result into the model card of the judge's folder.")] = False,
) -> None:
    """Certify a judge: it passes if the lower bounds of its sensitivity and specificity reach their minimum.

    The bounds are exact one-sided 95% bounds, clustered by question. The exit code is 0 or, if it fails, 2. Answers that the judge
    was trained or calibrated on are refused.
    """
    named = options.without_none(question=question, references=references, candidate=candidate, label=label[0] if label else None)
    answers = open_answers(file, is_plain=bool(named))
    detected = options.find_columns(answers, named, (*ROLES, "label"))
    labels = label or [detected["label"]]
    records: Iterable[LocatedRecord]
    if answers.framework is not None:
        reader, records = make_column_reader(PLAIN_COLUMNS), read_answer_records(file, answers.framework)
    else:
        source = answers.source
        assert source is not None
        if missing := [name for name in labels if name not in source.columns]:
            raise InputError(f"{file}: no column {missing[0]!r} for --label; available: {', '.join(map(repr, source.columns))}")
        columns = {role: column for role, column in detected.items() if role != "label"}
        reader = make_column_reader(columns, source.holds_texts, source.sample)
        records = source.records([*columns.values(), *labels])
    folder = find_judge(judge).folder
    if card and (folder is None or folder == GENERAL_FOLDER):
        raise InputError(f"--card: {judge} is not the folder of a judge; leave --card out")
    from bert_judge.evaluation.audit.certificate import certify_file, read_attack_rates

    [loaded] = options.load_judges([judge])
    rates = {} if attacks is None else read_attack_rates(attacks)
    if attacks is not None and loaded.name not in rates:
        raise InputError(f"{attacks}: no attack rates of {loaded.name}; run bert-judge attack, or omit --attacks")
    log("; ".join(f"{role}: {detected[role]!r}" for role in ROLES) + f"; labels: {', '.join(map(repr, labels))}")
    result = certify_file(
        file,
        records,
        reader,
        labels,
        loaded,
        min_sensitivity=min_sensitivity,
        min_specificity=min_specificity,
        attack_rate=rates.get(loaded.name, math.nan),
    )
    _print_certificate(result, loaded.name)
    echo(f"{loaded.name}: {result.sentence()}")
    if card and folder is not None:
        from bert_judge.judges.model_card import markdown_table, set_section

        numbers = {name: value for name, value in asdict(result).items() if value is not None and value == value}
        rows = [(name, f"{value:.4g}" if isinstance(value, float) else value) for name, value in numbers.items()]
        set_section(folder, "Certificate", f"On {file.name}: {result.sentence()}.\n\n{markdown_table(('measure', 'value'), rows)}")
        echo(f"{folder / 'README.md'}: section Certificate")
    if not result.passed:
        raise typer.Exit(2)


def _print_certificate(result: Certificate, judge: str) -> None:
    def percents(*values: float) -> str:
        return " to ".join(map(format_percent, values))

    def numbers(*values: float) -> str:
        return " to ".join(format_number(value, 2) for value in values)

    minima = percents(result.min_sensitivity), percents(result.min_specificity)
    rows = [
        (f"sensitivity, % (minimum {minima[0]})", percents(result.sensitivity), f"at least {percents(result.sensitivity_low)}"),
        (f"specificity, % (minimum {minima[1]})", percents(result.specificity), f"at least {percents(result.specificity_low)}"),
        ("agreement, %", percents(result.agreement), percents(result.agreement_low, result.agreement_high)),
        ("kappa", numbers(result.kappa), numbers(result.kappa_low, result.kappa_high)),
        ("ECE", numbers(result.ece), ""),
        ("attacks that succeed, %", percents(result.attack_rate), ""),
        ("kappa among annotators", numbers(result.human_kappa), ""),
    ]
    table = make_table("measure", numbers=("value", "95% bound or interval"), title=f"{judge} on {result.n:,} labelled answers")
    for row in rows:
        # A number that was not measured is NaN.
        if row[1] != format_number(math.nan, 2):
            table.add_row(*row)
    console().print(table)
