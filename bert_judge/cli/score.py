"""`bert-judge score`: append verdicts to a file of answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.candidates.importers import column_names, frameworks
from bert_judge.candidates.importers.answers import RecordReader, make_column_reader
from bert_judge.candidates.importers.companion_files import CompanionFiles
from bert_judge.candidates.importers.suspicious_input import find_suspicious_input
from bert_judge.cli import import_files
from bert_judge.cli.terminal import console
from bert_judge.evaluation.statistics import proportion
from bert_judge.judges import registry
from bert_judge.labels import judge_loading
from bert_judge.labels.score_file.score_file import OnProgress, check_output, output_columns, score_file, work_folder
from bert_judge.labels.score_file.tally import CORRECT, INVALID, Tally
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import ProgressLogger, disable_progress_bars
from bert_judge.tables.readers.containers import Container
from bert_judge.tables.readers.rows import Record, RowFile, open_rows

if TYPE_CHECKING:
    from bert_judge.labels.score_file.prior_shift import Adapter

MAX_MODELS, MAX_REASONS = 40, 3
# Of the new columns, if the file has columns with their names.
PREFIX = "bert_judge_"


Load = Callable[[], Sequence[judge_loading.NamedJudge]]


@dataclass(frozen=True)
class Request:
    """Options of the command; see `commands.score`."""

    file: Path
    output: Path | None = None
    judges: Sequence[str] = ()
    threshold: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    force: bool = False
    suffix: str = ".scored"
    prior_shift: bool = False


def score(request: Request, load: Load | None = None) -> None:
    """Score a file and print a summary.

    Args:
        load: loads the judges, called after the file has been checked. Default: the judges that the request names.

    Raises:
        InputError: the file, its columns, the judge or the output is invalid; nothing was written.
    """
    # Explicit columns mean that the file is read as plain rows, not as a framework's file.
    framework = None if request.columns else frameworks.detect(request.file)
    if framework is None or frameworks.FRAMEWORKS[framework].is_annotatable:
        source = open_rows(request.file)
        output = request.output or source.container.name.with_suffix(f"{request.suffix}{source.container.output_suffix}")
        # Fail early, before a judge is loaded.
        check_output(source, output, request.force)
    else:
        output = request.output or request.file.with_suffix(f"{request.suffix}.jsonl")
        source = _convert(request, framework, output)
    sample = source.sample()
    reader = _make_reader(source, framework, request, sample)
    for line in find_suspicious_input(sample, reader):
        _log(f"warning: {line}")
    judges = load() if load else load_judges(request.judges, request.threshold)
    adapter = _make_adapter(judges) if request.prior_shift else None
    prefix = request.prefix or _choose_prefix(source, judges)
    with _progress() as on_progress:
        tally = score_file(
            source, reader, output, judges, prefix=prefix, force=request.force, on_progress=on_progress, adapter=adapter
        )
    _report(tally, output)
    if adapter:
        _report_base_rates(adapter)


def _convert(request: Request, framework: str, output: Path) -> RowFile:
    """Convert a framework's document to a row file in the work folder, which is deleted when scoring is finished."""
    work = work_folder(output)
    work_exists, rows = work.exists(), work / "source" / "rows.jsonl"
    check_output(RowFile(Container(rows, "jsonl"), []), output, request.force)
    try:
        import_files.convert_to_rows(request.file, framework, rows)
        source = open_rows(rows)
    except InputError:
        if not work_exists:
            resume.clear(work)
        raise
    return source


def _choose_prefix(source: RowFile, judges: Sequence[judge_loading.NamedJudge]) -> str:
    """Return a prefix for the new columns if the file has one of their names, e.g. a reward called `score`."""
    existing = [name for name in output_columns(judges) if name in source.columns]
    if existing:
        _log(f"{source.path}: has a column {existing[0]!r}; the new columns start with {PREFIX!r}; choose another with --prefix")
    return PREFIX if existing else ""


def _make_reader(source: RowFile, framework: str | None, request: Request, sample: Sequence[Record]) -> RecordReader:
    """Return the reader of the rows; log the detected format or columns."""
    if framework is not None:
        kind = frameworks.FRAMEWORKS[framework]
        _log(f"{request.file}: {kind.description}")
        if kind.is_annotatable:
            return kind.make_reader(source.path, CompanionFiles())
        return make_column_reader(frameworks.PLAIN_COLUMNS)
    _check_reference_file(source, request)
    columns = column_names.detect_columns(source.path, source.columns, request.columns, sample=sample)
    _log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    if labels := column_names.verdict_columns(source.columns, columns, sample):
        _log(f"warning: score does not use the labels in {', '.join(map(repr, labels))}; bert-judge train learns from them")
    return make_column_reader(columns, source.format == "csv", sample)


def _check_reference_file(source: RowFile, request: Request) -> None:
    """Refuse a file in place of the column of references."""
    references = request.columns.get("references", "")
    if references and references not in source.columns and Path(references).is_file():
        raise InputError(
            f"--references names a column, and {references} is a file; import the answers first: "
            f"bert-judge import {request.file} --references {references} -o answers.jsonl"
        )


def load_judges(names: Sequence[str], threshold: float | None) -> list[judge_loading.NamedJudge]:
    """Load judges by name; without names, load the general judge and log its version."""
    if not names:
        version = registry.read_card(GENERAL_FOLDER).get("version", "")
        _log(f"judge: {GENERAL} {version} (comes with bert-judge; --judge takes another)")
        names = [GENERAL]
    disable_progress_bars()
    return judge_loading.load_judges(names, threshold)


def _make_adapter(judges: Sequence[judge_loading.NamedJudge]) -> Adapter:
    # Lazy import: rule judges do not need the dependencies of trained judges.
    from bert_judge.labels.score_file.prior_shift import Adapter

    return Adapter(judges)


def _log(text: str) -> None:
    typer.echo(text, err=True)


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """Show a progress bar on a terminal, and log lines otherwise."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        progress, finished = ProgressLogger("rows judged", emit=_log), 0

        def report(rows: int, fraction: float) -> None:
            nonlocal finished
            finished += rows
            progress.update(finished, fraction)

        yield report
        return
    texts = TextColumn("{task.fields[rows]:,} rows judged")
    with Progress(TextColumn("judging"), BarColumn(), texts, TimeRemainingColumn(), console=screen, transient=True) as bar:
        task = bar.add_task("", total=1.0, rows=0)

        def update(rows: int, fraction: float) -> None:
            bar.update(task, completed=fraction, rows=bar.tasks[0].fields["rows"] + rows)

        yield update


def _report(tally: Tally, output: Path) -> None:
    """Print the accuracy per judge and model, and the reasons of invalid verdicts."""
    table = Table("judge", "model", title_justify="left")
    for name in ("answers", "accuracy, %", "invalid, %", "accuracy without invalid, %"):
        table.add_column(name, justify="right")
    lines = list(tally.by_model())
    for judge, model, verdicts, questions in lines[:MAX_MODELS]:
        correct, valid = verdicts == CORRECT, verdicts != INVALID
        accuracy = proportion(correct, questions)
        interval = f"{100 * accuracy.value:.1f} [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"
        decided = f"{100 * correct[valid].mean():.1f}" if valid.any() else "–"
        table.add_row(judge, model or "–", f"{len(verdicts):,}", interval, f"{100 * (1 - valid.mean()):.1f}", decided)
    console().print(table)
    if len(lines) > MAX_MODELS:
        typer.echo(f"and {len(lines) - MAX_MODELS} more")
    for reason, count in tally.reasons.most_common(MAX_REASONS):
        typer.echo(f"invalid: {count:,} × {reason}")
    for reason, count in tally.unfamiliar.items():
        _log(
            f"warning: {count:,} of {tally.rows * len(tally.judges):,} verdicts are on text {reason}; bring labels or another judge"
        )
    skipped = f", {tally.skipped:,} of them without an answer to judge" if tally.skipped else ""
    typer.echo(f"{output}: {tally.rows:,} rows{skipped}")
    sys.stdout.flush()


def _report_base_rates(adapter: Adapter) -> None:
    """Print the estimated base rates."""
    for (judge, model), base_rate in islice(adapter.base_rates.items(), MAX_MODELS):
        prior = adapter.calibrations[judge].prior
        typer.echo(f"{judge}, {model or 'all answers'}: base rate estimated at {base_rate:.1%}, {prior:.1%} in training")
