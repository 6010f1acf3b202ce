"""`bert-judge predict`: one answer from the command line, or lines of JSON through a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import typer

from bert_judge.candidates.importers import column_names
from bert_judge.candidates.importers.answers import make_column_reader
from bert_judge.cli.score import load_judges
from bert_judge.judges.protocol import Label
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file.score_file import judge_rows, output_columns, to_row
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import rows

# Lines that are judged together: enough for a full batch, few enough to see the first ones soon.
LINES = 64
STDIN = Path("stdin")


def one(candidate: str, references: Sequence[str], question: str, names: Sequence[str], threshold: float | None) -> None:
    """Print a judge's verdict and score on one answer; with several judges a line each.

    Raises:
        InputError: no reference is given, or no such judge.
    """
    if not references:
        raise InputError("--reference: none is given; say what a right answer is")
    record = {"question": question, "references": list(references), "candidate": candidate}
    row = to_row(make_column_reader({name: name for name in record}), record)
    judges = load_judges(names, threshold)
    for chosen in judges:
        [label] = judge_rows(chosen, [row])
        assert label is not None
        score = f" {label.score:.4f}" if label.score is not None else f": {label.reason}"
        typer.echo(f"{chosen.name + ': ' if len(judges) > 1 else ''}{label.verdict}{score}")


def pipe(names: Sequence[str], threshold: float | None) -> None:
    """Print every line of stdin with its verdicts.

    Raises:
        InputError: a line is no object, its keys do not tell what they hold, or no such judge. Lines before it are answered.
    """
    if sys.stdin.isatty():
        raise InputError("predict: nothing to judge; give an answer and --reference, or send lines of JSON through a pipe")
    judges = load_judges(names, threshold)
    lines = ((number, line) for number, line in enumerate(sys.stdin, 1) if line.strip())
    while some := list(islice(lines, LINES)):
        for line in _answered([rows.parse_json_line(STDIN, number, line) for number, line in some], judges):
            typer.echo(line)
        sys.stdout.flush()


def _answered(records: Sequence[Mapping[str, Any]], judges: Sequence[NamedJudge]) -> Iterator[str]:
    # Each line may name its keys in its own way.
    rows = [to_row(make_column_reader(column_names.detect_columns(STDIN, list(record), {})), record) for record in records]
    labels = [judge_rows(chosen, rows) for chosen in judges]
    for record, *said in zip(records, *labels, strict=True):
        yield json.dumps({**record, **dict(zip(output_columns(judges), _values(said), strict=True))}, ensure_ascii=False)


def _values(labels: Sequence[Label | None]) -> list[Any]:
    return [getattr(label, name, None) for label in labels for name in ("verdict", "score", "reason")]
