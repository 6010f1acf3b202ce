"""`bert-judge import --pairs`: convert the answer pairs of JudgeLM files to plain rows, for a pair set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from bert_judge import tables
from bert_judge.candidates.importers import companion_files, frameworks, judgelm
from bert_judge.cli.import_files import CHUNK_ROWS, Request, check, writer
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import open_rows

SCHEMA = pa.schema([(name, pa.list_(pa.string()) if name == "reference" else pa.string()) for name in judgelm.PAIR_COLUMNS])


def import_pairs(request: Request) -> None:
    """Write the pairs of the files and print their number.

    Raises:
        InputError: a file is not in JudgeLM's format, cannot be read or contains no pair, or the output exists; nothing is written.
    """
    check(request)
    unreadable: Counter[str] = Counter()
    count = 0
    with tables.atomic(request.output) as temporary:
        with writer(request.output, temporary, SCHEMA) as write:
            rows = (row for path in request.files for row in _rows(path, request, unreadable))
            while chunk := list(islice(rows, CHUNK_ROWS)):
                write(chunk)
                count += len(chunk)
        for error, lines in unreadable.most_common(3):
            typer.echo(f"{lines:,} not readable: {error}", err=True)
        if not count:
            raise InputError(f"{request.files[0]}: contains no pair; a line needs two answers")
    typer.echo(f"{request.output}: {count:,} pairs")


def _rows(path: Path, request: Request, unreadable: Counter[str]) -> Iterator[dict[str, Any]]:
    if (request.format or frameworks.detect(path)) != "judgelm":
        raise InputError(f"{path}: not a JudgeLM file; a file with two answers per row needs no import, see `pairs`")
    read_pairs = judgelm.JudgeLMPairReader(path, companion_files.references_by_id(request.references))
    for _, record in open_rows(path).records():
        try:
            pairs = list(read_pairs(record))
        except values.UnreadableCell as error:
            unreadable[str(error)] += 1
            continue
        for row in pairs:
            yield row | {"task": request.task or row["task"]}
