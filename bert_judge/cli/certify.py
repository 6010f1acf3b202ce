"""`bert-judge certify`: test on labelled answers whether a judge is good enough."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli.options import Candidate, Question, References, load_judges, without_none
from bert_judge.cli.terminal import console, echo, format_number, format_percent, log, make_table
from bert_judge.importers import column_names
from bert_judge.labels.judge_loading import find_judge
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows

if TYPE_CHECKING:
    from bert_judge.evaluation.audit.certificate import Certificate

PARTS = ("question", "references", "candidate")


def certify(
    file: Annotated[Path, typer.Argument(help="Labelled answers that the judge never saw: CSV, JSON lines or parquet.")],
    judge: Annotated[
        str, typer.Option("--judge", "-j", help="Folder of a judge, general, a rule, or another judge of score.")
    ] = GENERAL,
    min_sensitivity: Annotated[float, typer.Option(min=0.01, max=0.99, help="Lowest 95% bound of the sensitivity.")] = 0.8,
    min_specificity: Annotated[float, typer.Option(min=0.01, max=0.99, help="Lowest 95% bound of the specificity.")] = 0.8,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Name of the label column; several are several annotators. Repeatable.")
    ] = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    attacks: Annotated[Path | None, typer.Option(help="rates.parquet of bert-judge attack, to show the attack rate.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Write the result into the model card of the judge's folder.")] = False,
) -> None:
    """Certify a judge: it passes if the lower bounds of its sensitivity and specificity reach their minimum.

    The bounds are exact one-sided 95% bounds, clustered by question. The exit code is 0 or, if it fails, 2. Answers that the judge
    was trained or calibrated on are refused.
    """
    source = open_rows(file)
    named = without_none(question=question, references=references, candidate=candidate, label=label[0] if label else None)
    detected = column_names.detect_columns(file, source.columns, named, (*PARTS, "label"), True)
    labels = label or [detected["label"]]
    if missing := [name for name in labels if name not in source.columns]:
        raise InputError(f"{file}: no column {missing[0]!r} for --label; available: {', '.join(map(repr, source.columns))}")
    folder = find_judge(judge).folder
    if card and (folder is None or folder == GENERAL_FOLDER):
        raise InputError(f"--card: {judge} is not the folder of a judge; leave --card out")
    from bert_judge.evaluation.audit.certificate import read_attack_rates
    from bert_judge.evaluation.audit.certify_file import certify_file

    [loaded] = load_judges([judge], None)
    rates = {} if attacks is None else read_attack_rates(attacks)
    if attacks is not None and loaded.name not in rates:
        raise InputError(f"{attacks}: no attack rates of {loaded.name}; run bert-judge attack, or omit --attacks")
    log("; ".join(f"{part}: {detected[part]!r}" for part in PARTS) + f"; labels: {', '.join(map(repr, labels))}")
    columns = {part: column for part, column in detected.items() if part != "label"}
    result = certify_file(
        source,
        columns,
        labels,
        loaded,
        min_sensitivity=min_sensitivity,
        min_specificity=min_specificity,
        attack_rate=rates.get(loaded.name, math.nan),
    )
    _print(result, loaded.name)
    echo(f"{loaded.name}: {result.sentence()}")
    if card and folder is not None:
        from bert_judge.judges.model_card import markdown_table, set_section

        known = {name: value for name, value in asdict(result).items() if value is not None and value == value}
        rows = [(name, f"{value:.4g}" if isinstance(value, float) else value) for name, value in known.items()]
        set_section(folder, "Certificate", f"On {file.name}: {result.sentence()}.\n\n{markdown_table(('measure', 'value'), rows)}")
        echo(f"{folder / 'README.md'}: section Certificate")
    if not result.passed:
        raise typer.Exit(2)


def _print(result: Certificate, judge: str) -> None:
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
