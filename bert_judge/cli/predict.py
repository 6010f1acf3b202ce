"""`bert-judge predict`: judge one answer from the command line, or JSON lines from stdin."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bert_judge.cli.options import Judges, Policy, Threshold, load_judges
from bert_judge.cli.terminal import echo
from bert_judge.importers import column_names
from bert_judge.importers.answers import make_column_reader
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import READ_PLAIN, judge_records, judge_rows, parse_record
from bert_judge.labels.score_file import added_columns, output_columns
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import rows

# Lines judged together: enough for a full batch, few enough to print the first results soon.
CHUNK_LINES = 64
STDIN = Path("stdin")


class _PredictCommand(TyperCommand):
    """Accept an answer that begins with a minus, such as -5, without `--` before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {name: parameter for parameter in self.get_params(ctx) for name in parameter.opts}
        position = 0
        while position < len(args) and args[position] != "--":
            argument = args[position]
            if argument in options:
                position += 1 if getattr(options[argument], "is_flag", False) else 2
                continue
            if re.match(r"-[^-]", argument) and argument[:2] not in options:
                args = [*args[:position], *args[position + 1 :], "--", argument]
                break
            position += 1
        return super().parse_args(ctx, args)


app = typer.Typer(add_completion=False)


@app.command("predict", cls=_PredictCommand)
def predict(
    candidate: Annotated[str | None, typer.Argument(help="Answer to judge. Default: lines of JSON on stdin.")] = None,
    reference: Annotated[list[str] | None, typer.Option("--reference", "-r", help="Reference answer. Repeatable.")] = None,
    question: Annotated[str, typer.Option("--question", "-q", help="Question.")] = "",
    judge: Judges = None,
    threshold: Threshold = None,
    policy: Policy = None,
) -> None:
    """Judge a single answer, or JSON lines from a pipe.

    Each line is an object with the keys question, references and candidate, or similar names; it is printed again with verdict,
    score, certain and reason.
    """
    load = partial(load_judges, judge or [], threshold, policy)
    if candidate is None:
        _predict_stream(load)
    else:
        _predict_one(candidate, reference or [], question, load)


def _predict_one(candidate: str, references: Sequence[str], question: str, load: Callable[[], list[NamedJudge]]) -> None:
    """Print a verdict and score; with several judges a line each."""
    record = {"question": question, "references": list(references), "candidate": candidate}
    judges = load()
    if not references and any(judge.needs_references for judge in judges):
        raise InputError("no reference answer is given; set --reference")
    for judge in judges:
        [label] = judge_records(judge, READ_PLAIN[judge.needs_references], [record])
        assert label is not None
        score = f" {label.score:.3f}" if label.score is not None else f": {label.reason}"
        score += ", uncertain" if label.certain is False else ""
        echo(f"{judge.name + ': ' if len(judges) > 1 else ''}{label.verdict}{score}")


def _predict_stream(load: Callable[[], list[NamedJudge]]) -> None:
    """Print every line of stdin with its verdicts; the lines before an invalid one are printed too."""
    if sys.stdin.isatty():
        raise InputError("predict: nothing to judge; give an answer and --reference, or send lines of JSON through a pipe")
    judges = load()
    lines = ((number, line) for number, line in enumerate(sys.stdin, 1) if line.strip())
    while chunk := list(islice(lines, CHUNK_LINES)):
        for line in _label_lines([rows.parse_json_line(STDIN, number, line) for number, line in chunk], judges):
            echo(line)
        sys.stdout.flush()


def _label_lines(records: Sequence[Mapping[str, Any]], judges: Sequence[NamedJudge]) -> Iterator[str]:
    # Keys may differ between lines.
    columns = [
        column_names.detect_columns(STDIN, list(record), {}, sample=[record], remedy=column_names.RENAME) for record in records
    ]
    rows = [parse_record(make_column_reader(detected), record).input for detected, record in zip(columns, records, strict=True)]
    labels = [judge_rows(judge, rows) for judge in judges]
    for record, *row_labels in zip(records, *labels, strict=True):
        pairs = zip(judges, row_labels, strict=True)
        values = [getattr(label, name, None) for judge, label in pairs for name in added_columns(judge)]
        yield json.dumps({**record, **dict(zip(output_columns(judges), values, strict=True))}, ensure_ascii=False)
