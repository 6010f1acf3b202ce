"""`bert-judge train`: a judge out of a file of labelled answers."""

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

NEEDED = ("question", "references", "candidate", "label")


@dataclass(frozen=True)
class Request:
    """What the command line asked for; see `making.train`."""

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
    """Train a judge and say how it does.

    Raises:
        InputError: the file, its columns or the folder make no sense; no judge was touched.
    """
    name = request.folder.resolve().name
    columns = found_columns(request.file, request.columns, NEEDED, labelled=True)
    from bert_judge.cli.quickstart import configurations

    block = {"backbone": request.backbone, **({"training": dict(request.training)} if request.training else {})}
    raw = configurations.training(request.file, columns, name, request.test, block, request.validation)
    if request.show:
        typer.echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    typer.echo("; ".join(f"{part}: {column!r}" for part, column in columns.items()), err=True)
    _check_folder(request.folder, request.force)
    if name in (configurations.LABELS, configurations.RULE):
        raise InputError(f"{request.folder}: a judge called {name!r} is measured beside it; give the folder another name")
    with job_log(None, offline=False):
        from bert_judge.cli.quickstart.train import clear, work_folder
        from bert_judge.cli.quickstart.train import train as train_it
        from bert_judge.cli.show_standings import show

        show(train_it(raw, name, request.folder, work_folder(request.folder)))
        clear(request.folder)
    typer.echo(f"{request.folder}: the judge, its card README.md and its metrics; bert-judge score FILE --judge {request.folder}")


def found_columns(file: Path, told: Mapping[str, str], needed: tuple[str, ...], labelled: bool = False) -> dict[str, str]:
    """Of the parts that are needed, the file's columns."""
    guessed = column_names.detect_columns(file, open_rows(file).columns, told, needed, labelled)
    return {part: guessed[part] for part in needed}


def _check_folder(folder: Path, force: bool) -> None:
    from bert_judge.cli.quickstart.train import work_folder

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder with -o")
    if not folder.is_dir() or not any(folder.iterdir()) or (work_folder(folder).is_dir() and not (folder / "judge.json").is_file()):
        return
    if not (folder / "judge.json").is_file():
        raise InputError(f"{folder}: holds something that is no judge; name another folder with -o")
    if not force:
        raise InputError(f"{folder}: holds a judge already; add --force to put the new one in its place, or name another with -o")
