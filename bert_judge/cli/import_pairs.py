"""`bert-judge import --pairs`: every two answers of JudgeLM's files as plain rows, for a set of pairs."""

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
    """Write the pairs of the files, and say how many there are.

    Raises:
        InputError: a file is not JudgeLM's, cannot be read or holds no pair, or the output is there; then nothing is written.
    """
    check(request)
    unreadable: Counter[str] = Counter()
    count = 0
    with tables.atomic(request.output) as temporary:
        with writer(request.output, temporary, SCHEMA) as write:
            rows = (row for path in request.files for row in _rows(path, request, unreadable))
            while some := list(islice(rows, CHUNK_ROWS)):
                write(some)
                count += len(some)
        for why, lines in unreadable.most_common(3):
            typer.echo(f"{lines:,} not readable: {why}", err=True)
        if not count:
            raise InputError(f"{request.files[0]}: there is no pair to import; a line needs two answers")
    typer.echo(f"{request.output}: {count:,} pairs")


def _rows(path: Path, request: Request, unreadable: Counter[str]) -> Iterator[dict[str, Any]]:
    if (request.format or frameworks.detect(path)) != "judgelm":
        raise InputError(f"{path}: is no file of JudgeLM; a file with two answers in a row is read as it is, see `pairs`")
    read = judgelm.JudgeLMPairReader(path, companion_files.references_by_id(request.references))
    for _, record in open_rows(path).records():
        try:
            found = list(read(record))
        except values.UnreadableCell as why:
            unreadable[str(why)] += 1
            continue
        for row in found:
            yield row | {"task": request.task or row["task"]}
