"""`bert-judge generate`: generate a language model's answers to a file of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
import yaml

from bert_judge import tables
from bert_judge.cli import import_files
from bert_judge.cli.label import model_block
from bert_judge.cli.train import find_columns
from bert_judge.labels.score_file.score_file import work_folder
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import job_log

REQUIRED = ("question", "references")
BACKENDS = ("hf", "vllm")
# Columns of `tables.CANDIDATES`; its `reason` is called `failure`, because `score` adds a reason of its own.
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("references", pa.list_(pa.string())),
        ("candidate", pa.string()),
        ("model", pa.string()),
        ("attempt", pa.int32()),
        ("status", pa.string()),
        ("failure", pa.string()),
        ("reasoning", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("completion_tokens", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Request:
    """Options of the command; see `commands.generate`."""

    file: Path
    output: Path
    model: str
    server: str | None
    backend: str
    style: str
    family: str
    block: Mapping[str, Any]
    columns: Mapping[str, str]
    show: bool
    force: bool


def generate(request: Request) -> None:
    """Generate answers and write them.

    Raises:
        InputError: the file, its columns, the model or the output are invalid.
    """
    if request.backend not in BACKENDS:
        raise InputError(f"--backend {request.backend}: unknown backend; available: {', '.join(BACKENDS)}; or set --server")
    columns = find_columns(request.file, request.columns, REQUIRED)
    from bert_judge.cli.quickstart import configurations
    from bert_judge.judges.probe import short_name

    name = short_name(request.model)
    block = {**model_block(request.model, request.server, request.backend), **request.block}
    raw = configurations.generation(request.file, columns, request.family, name, block, request.style)
    if request.show:
        typer.echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    _check_output(request)
    typer.echo("; ".join(f"{role}: {column!r}" for role, column in columns.items()), err=True)
    with job_log(None, offline=False):
        from bert_judge.cli.quickstart.generate import generate as generate_it

        work = work_folder(request.output)
        answers = pq.read_table(generate_it(raw, name, work)).to_pylist()
        rows = [{**row, "failure": row["reason"]} for row in answers]
        with tables.atomic(request.output) as temporary, import_files.writer(request.output, temporary, SCHEMA) as write:
            write([{column: row[column] for column in SCHEMA.names} for row in rows])
    failed = sum(row["status"] == "error" for row in rows)
    if not failed:
        # After failures, the next call reuses the finished answers.
        resume.clear(work)
    failure_note = f"; {failed} failed, see the column failure; repeat with --force to retry them" if failed else ""
    typer.echo(f"{request.output}: {len(rows):,} answers of {name}{failure_note}")


def _check_output(request: Request) -> None:
    output = request.output
    import_files.writer(output, output)
    if output.is_dir() or not output.parent.is_dir():
        raise InputError(f"{output}: is a folder, or its folder does not exist; choose a file in an existing folder")
    if output.resolve() == request.file.resolve():
        raise InputError(f"{output}: is the input file; choose another with -o")
    if output.exists() and not request.force:
        raise InputError(f"{output}: exists already; add --force to overwrite it, or choose another with -o")
