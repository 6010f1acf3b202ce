"""`bert-judge train`: train a judge on a file of labelled answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import yaml

from bert_judge.candidates.importers import column_names
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import job_log
from bert_judge.tables.readers.rows import open_rows

REQUIRED = ("question", "references", "candidate", "label")


@dataclass(frozen=True)
class Request:
    """Options of the command; see `commands.train`."""

    file: Path
    folder: Path
    backbone: str
    training: Mapping[str, Any]
    test: float
    validation: float
    columns: Mapping[str, str]
    show: bool
    force: bool


def train(request: Request) -> None:
    """Train a judge and print its results on the held-out questions.

    Raises:
        InputError: the file, its columns or the folder are invalid; no judge was changed.
    """
    name = request.folder.resolve().name
    columns = find_columns(request.file, request.columns, REQUIRED, labelled=True)
    from bert_judge.cli.quickstart import configurations

    block = {"backbone": request.backbone, **({"training": dict(request.training)} if request.training else {})}
    raw = configurations.training(request.file, columns, name, request.test, block, request.validation)
    if request.show:
        typer.echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    typer.echo("; ".join(f"{role}: {column!r}" for role, column in columns.items()), err=True)
    _check_folder(request.folder, request.force)
    if name in (configurations.LABELS, configurations.RULE):
        raise InputError(f"{request.folder}: {name!r} is the name of a baseline; choose another folder name")
    with job_log(None, offline=False):
        from bert_judge.cli.quickstart.train import clear, work_folder
        from bert_judge.cli.quickstart.train import train as train_it
        from bert_judge.cli.show_standings import show

        show(train_it(raw, name, request.folder, work_folder(request.folder)))
        clear(request.folder)
    typer.echo(f"{request.folder}: the judge, its card README.md and its metrics; bert-judge score FILE --judge {request.folder}")


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
