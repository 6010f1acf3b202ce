"""`bert-judge import`: convert other frameworks' files of answers, or of pairs of answers, to plain rows."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from bert_judge import tables
from bert_judge.assets.prepare import resolve_files
from bert_judge.cli.options import Conversation, Force
from bert_judge.cli.terminal import echo, log
from bert_judge.importers import column_names, frameworks
from bert_judge.importers.answers import Answer, RecordReader, find_suspicious_input, make_column_reader
from bert_judge.importers.companion_files import CompanionFiles, JoiningReader, references_by_id
from bert_judge.importers.frameworks import FRAMEWORKS, SCHEMA, ImportStats, write_rows
from bert_judge.importers.judge_benchmarks import PAIR_COLUMNS, JudgeLMPairReader
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import open_rows

ROWS = "rows"
PAIR_TYPES = {"reference": pa.list_(pa.string()), "grade_a": pa.float64(), "grade_b": pa.float64()}
PAIR_SCHEMA = pa.schema([(name, PAIR_TYPES.get(name, pa.string())) for name in PAIR_COLUMNS])


def import_(
    files: Annotated[
        list[str], typer.Argument(help="Files of a framework, or tables; several are concatenated. Or hf:OWNER/NAME on the hub.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .jsonl, .csv or .parquet.")],
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(FRAMEWORKS)}, or {ROWS}. Default: detected from the content."),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(help="File of references, joined by id or question, if the answers' file has none.")
    ] = None,
    requests: Annotated[Path | None, typer.Option(help="Requests of a batch, which hold its questions.")] = None,
    scores: Annotated[Path | None, typer.Option(help="scores.json of a judge, for the label column.")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, overriding the file's.")] = None,
    task: Annotated[str | None, typer.Option(help="Task name, overriding the file's.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="JudgeLM: write one row per pair of answers.")] = False,
    conversation: Conversation = False,
    subset: Annotated[str | None, typer.Option(help="Subset (configuration) of a dataset on the hub.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of a dataset on the hub. Default: train.")] = None,
    force: Force = False,
) -> None:
    """Convert the output of other frameworks to rows: question, references, candidate, model, task, label, id, attempt."""
    paths = [path for name in files for path in resolve_files(name, subset, split)]
    if format not in (None, ROWS, *FRAMEWORKS):
        raise InputError(f"--format {format}: unknown; available: {', '.join(FRAMEWORKS)}, {ROWS}")
    companions = CompanionFiles(references, requests, scores, conversation)
    stats = ImportStats()
    with tables.claim_output(output, *paths, force=force):
        if pairs:
            rows = (row for path in paths for row in _read_pairs(path, format, references, task))
            no_pairs = InputError(f"{paths[0]}: contains no pair; a line needs two answers")
            count = write_rows(output, rows, PAIR_SCHEMA, lambda: no_pairs)
        else:
            rows = (row for path in paths for row in _read_rows(path, format, companions, stats, model=model, task=task))
            count = write_rows(output, rows, SCHEMA, lambda: frameworks.no_answers_error(paths[0], stats))
    echo(f"{output}: {count:,} {'pairs' if pairs else 'answers'}")


def _read_rows(
    path: Path, format: str | None, companions: CompanionFiles, total: ImportStats, *, model: str | None, task: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file, then print what was lost."""
    stats = ImportStats()
    for location, answer in _read_answers(path, format, companions, stats):
        row = {**asdict(answer), "model": model or answer.model, "task": task or answer.task}
        if not row["model"]:
            raise InputError(f"{path}: {location}: the file has no model name; set --model NAME")
        yield row
    total.skipped += stats.skipped
    total.unreadable += stats.unreadable
    for line in stats.describe_losses():
        log(f"{path}: {line}")


def _read_answers(path: Path, format: str | None, companions: CompanionFiles, stats: ImportStats) -> Iterator[tuple[str, Answer]]:
    """Yield location and answer of a file in any supported format."""
    opened = frameworks.open_answers(path) if format is None else None
    framework = format if opened is None else opened.framework
    if framework not in (None, ROWS):
        yield from frameworks.iterate_answers(path, str(framework), stats, companions)
        return
    source = (opened and opened.source) or open_rows(path)
    if companions.references:
        reader: RecordReader = JoiningReader(source, companions.references, is_conversation=companions.is_conversation)
    else:
        columns = column_names.detect_columns(path, source.columns, {}, sample=source.sample, remedy=_remedy)
        reader = make_column_reader(columns, source.holds_texts, source.sample, is_conversation=companions.is_conversation)
    for line in find_suspicious_input(source.sample, reader):
        log(f"{path}: warning: {line}")
    yield from frameworks.read_answers(reader, source.records(), stats)


def _remedy(role: str) -> str:
    return "name the file that holds them with --references FILE" if role == "references" else column_names.RENAME(role)


def _read_pairs(path: Path, format: str | None, references: Path | None, task: str | None) -> Iterator[dict[str, Any]]:
    """Yield the pairs of one file, then print what was lost."""
    if (format or frameworks.open_answers(path).framework) != "judgelm":
        raise InputError(f"{path}: not a JudgeLM file; a file with two answers per row needs no import, see `pairs`")
    read_pairs, stats = JudgeLMPairReader(path, references_by_id(references)), ImportStats()
    for _, record in open_rows(path).records():
        try:
            pairs = list(read_pairs(record))
        except values.UnreadableCell as error:
            stats.unreadable[str(error)] += 1
            continue
        yield from (row | {"task": task or row["task"]} for row in pairs)
    for line in stats.describe_losses():
        log(f"{path}: {line}")
