"""`bert-judge score`: a file of answers in, the same file with verdicts out."""

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

from bert_judge.candidates.importers import column_names, frameworks
from bert_judge.candidates.importers.answers import RecordReader, make_column_reader
from bert_judge.candidates.importers.companion_files import CompanionFiles
from bert_judge.cli import import_files
from bert_judge.cli.terminal import console
from bert_judge.evaluation.statistics import proportion
from bert_judge.labels import judge_loading
from bert_judge.labels.score_file.score_file import OnProgress, check_output, score_file, work_folder
from bert_judge.labels.score_file.tally import CORRECT, INVALID, Tally
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars
from bert_judge.runtime.progress import ProgressLogger
from bert_judge.tables.readers.rows import RowFile, open_rows

if TYPE_CHECKING:
    from bert_judge.labels.score_file.prior_shift import Adapter

SHOWN_MODELS, SHOWN_REASONS = 40, 3


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
    """Judge a file and say what came out.

    Args:
        load: gives the judges, once the file is known to make sense; those that the request names when left out.

    Raises:
        InputError: the file, its columns, the judge or the output make no sense; nothing was written.
    """
    # Whoever names columns means the file's rows, whatever wrote them.
    framework = None if request.columns else frameworks.detect(request.file)
    if framework is None or frameworks.FRAMEWORKS[framework].is_annotatable:
        output = request.output or request.file.with_suffix(f"{request.suffix}{request.file.suffix}")
        source = open_rows(request.file)
        # All that can be told at once, before a judge is loaded.
        check_output(source, output, request.force)
    else:
        output = request.output or request.file.with_suffix(f"{request.suffix}.jsonl")
        source = _imported(request, framework, output)
    reader = _reader(source, framework, request)
    judges = load() if load else load_judges(request.judges, request.threshold)
    adapter = _adapter(judges) if request.prior_shift else None
    with _progress() as tell:
        tally = score_file(
            source, reader, output, judges, prefix=request.prefix, force=request.force, on_progress=tell, adapter=adapter
        )
    _report(tally, output)
    if adapter:
        _report_shares(adapter)


def _imported(request: Request, framework: str, output: Path) -> RowFile:
    """A document's answers as rows of a file beside the output, which goes with the rest of the work when that is done."""
    work = work_folder(output)
    there, rows = work.exists(), work / "source" / "rows.jsonl"
    check_output(RowFile(rows, "jsonl", []), output, request.force)
    try:
        import_files.imported(request.file, framework, rows)
        source = open_rows(rows)
    except InputError:
        if not there:
            resume.clear(work)
        raise
    return source


def _reader(source: RowFile, framework: str | None, request: Request) -> RecordReader:
    """How the rows are read; says what they were taken for."""
    if framework is not None:
        kind = frameworks.FRAMEWORKS[framework]
        _say(f"{request.file}: {kind.description}")
        if kind.is_annotatable:
            return kind.make_reader(source.path, CompanionFiles())
        return make_column_reader(frameworks.PLAIN_COLUMNS)
    columns = column_names.detect_columns(source.path, source.columns, request.columns)
    _say("; ".join(f"{part}: {column!r}" for part, column in columns.items()))
    return make_column_reader(columns, source.format == "csv")


def load_judges(names: Sequence[str], threshold: float | None) -> list[judge_loading.NamedJudge]:
    """The judges of these names; of none, the default one, and a line that says which."""
    if not names:
        name, why = judge_loading.default_judge()
        _say(f"judge: {name} ({why})")
        names = [name]
    disable_progress_bars()
    return judge_loading.load_judges(names, threshold)


def _adapter(judges: Sequence[judge_loading.NamedJudge]) -> Adapter:
    # Only here: rules need nothing of what trained judges do.
    from bert_judge.labels.score_file.prior_shift import Adapter

    return Adapter(judges)


def _say(text: str) -> None:
    typer.echo(text, err=True)


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """A bar on a terminal, a line now and then elsewhere."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        progress, finished = ProgressLogger("rows judged", emit=_say), 0

        def report(rows: int, fraction: float) -> None:
            nonlocal finished
            finished += rows
            progress.update(finished, fraction)

        yield report
        return
    texts = TextColumn("{task.fields[rows]:,} rows judged")
    with Progress(TextColumn("judging"), BarColumn(), texts, TimeRemainingColumn(), console=screen, transient=True) as bar:
        task = bar.add_task("", total=1.0, rows=0)

        def tell(rows: int, share: float) -> None:
            bar.update(task, completed=share, rows=bar.tasks[0].fields["rows"] + rows)

        yield tell


def _report(tally: Tally, output: Path) -> None:
    """Accuracy per judge and model, and why verdicts are missing."""
    table = Table("judge", "model", title_justify="left")
    for name in ("answers", "correct, % of the valid", "invalid, %"):
        table.add_column(name, justify="right")
    lines = list(tally.by_model())
    for judge, model, verdicts, questions in lines[:SHOWN_MODELS]:
        valid = verdicts != INVALID
        found = proportion(verdicts[valid] == CORRECT, questions[valid])
        share = f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]" if valid.any() else "–"
        table.add_row(judge, model or "–", f"{len(verdicts):,}", share, f"{100 * (1 - valid.mean()):.1f}")
    console().print(table)
    if len(lines) > SHOWN_MODELS:
        typer.echo(f"and {len(lines) - SHOWN_MODELS} more")
    for reason, count in tally.reasons.most_common(SHOWN_REASONS):
        typer.echo(f"invalid: {count:,} × {reason}")
    skipped = f", {tally.skipped:,} of them without an answer to judge" if tally.skipped else ""
    typer.echo(f"{output}: {tally.rows:,} rows{skipped}")
    sys.stdout.flush()


def _report_shares(adapter: Adapter) -> None:
    """Which shares of right answers were told."""
    for (judge, model), share in islice(adapter.base_rates.items(), SHOWN_MODELS):
        prior = adapter.calibrations[judge].prior
        typer.echo(f"{judge}, {model or 'all answers'}: {share:.1%} right by its scores, moved from {prior:.1%}")
