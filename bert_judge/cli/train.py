"""`bert-judge train`: train a judge on a file of labelled answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
import yaml

from bert_judge.assets.prepare import GENERAL
from bert_judge.candidates.importers import column_names
from bert_judge.cli.commands import Candidate, Force, Question, References, ShowConfig, without_none
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import job_log
from bert_judge.tables.readers.rows import open_rows

# A judge that is trained further needs smaller steps than an encoder with a new head.
FINE_TUNING = {"learning_rate": 3e-5, "epochs": 3.0}
REQUIRED = ("question", "references", "candidate", "label")


def train(
    file: Annotated[Path, typer.Argument(help="Labelled answers with references: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the judge; its name is the judge's name.")],
    start: Annotated[
        str, typer.Option("--from", help="Judge or encoder to start from: general, minilm, hub id or folder.")
    ] = GENERAL,
    epochs: Annotated[float | None, typer.Option(min=0.01, help="Number of epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Rows per step.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the new layers and of the row order.")] = None,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the questions held out as test set.")] = 0.2,
    validation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the others used for calibration.")] = 0.1,
    label_column: Annotated[
        str | None, typer.Option("--label", help="Name of the label column, if it is not auto-detected.")
    ] = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    show_config: ShowConfig = False,
    force: Force = False,
) -> None:
    """Train a judge on a file of labelled answers and measure it on held-out questions.

    An interrupted call resumes when repeated. For other settings, use --show-config and Snakemake.
    """
    name = output.resolve().name
    named_columns = without_none(question=question, references=references, candidate=candidate, label=label_column)
    columns = find_columns(file, named_columns, REQUIRED, labelled=True)
    from bert_judge.cli.quickstart import configurations

    settings = without_none(epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, seed=seed)
    is_judge = start == GENERAL or (Path(start) / "judge.json").is_file()
    training = {**(FINE_TUNING if is_judge else {}), **settings}
    block = {"backbone": start, **({"training": training} if training else {})}
    raw = configurations.training(file, columns, name, test, block, validation)
    if show_config:
        typer.echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    typer.echo("; ".join(f"{role}: {column!r}" for role, column in columns.items()), err=True)
    _check_folder(output, force)
    if name in (configurations.LABELS, configurations.RULE):
        raise InputError(f"{output}: {name!r} is the name of a baseline; choose another folder name")
    with job_log(None, offline=False):
        from bert_judge.cli.quickstart.train import clear, work_folder
        from bert_judge.cli.quickstart.train import train as train_judge
        from bert_judge.cli.show_standings import show

        show(train_judge(raw, name, output, work_folder(output)))
        clear(output)
    typer.echo(f"{output}: the judge, its card README.md and its metrics; bert-judge score FILE --judge {output}")


def find_columns(file: Path, columns: Mapping[str, str], required: tuple[str, ...], labelled: bool = False) -> dict[str, str]:
    """Return part → column for the required parts of a file."""
    detected = column_names.detect_columns(file, open_rows(file).columns, columns, required, labelled)
    return {role: detected[role] for role in required}


def _check_folder(folder: Path, force: bool) -> None:
    from bert_judge.cli.quickstart.train import work_folder

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose a folder with -o")
    if not folder.is_dir() or not any(folder.iterdir()) or (work_folder(folder).is_dir() and not (folder / "judge.json").is_file()):
        return
    if not (folder / "judge.json").is_file():
        raise InputError(f"{folder}: contains files that are not a judge; choose another folder with -o")
    if not force:
        raise InputError(f"{folder}: contains a judge already; add --force to replace it, or choose another with -o")
