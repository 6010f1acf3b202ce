"""A file of answers in, the same file with verdicts out: a part at a time, so that neither its length nor a kill matters.

What is judged lies beside the output in `.{output}.parts` until the output is whole. A call that is repeated takes from there every
verdict whose judge and answer are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.candidates.importers.answers import Answer, Reader, Skipped
from bert_judge.judges.lexical import extraction
from bert_judge.judges.protocol import Label, Row, invalid, restored
from bert_judge.labels.score_file.judge_loading import Chosen
from bert_judge.labels.score_file.tally import Tally
from bert_judge.labels.score_file.writers import check_new, writer
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.streams import Chunk, RowFile

if TYPE_CHECKING:
    from bert_judge.labels.score_file.prior_shift import Adapter

# Rows held in memory at once, and rows per shard: the most that a kill can lose.
CHUNK_ROWS, SHARD_ROWS = 4096, 256
# Told after each shard: rows judged so far by all judges, and the share of the file that is read.
Tell = Callable[[int, float], None]


def _nobody(rows: int, share: float) -> None:
    """Tells nobody."""


def score_file(
    source: RowFile,
    reader: Reader,
    output: Path,
    judges: Sequence[Chosen],
    prefix: str = "",
    force: bool = False,
    tell: Tell = _nobody,
    adapter: Adapter | None = None,
) -> Tally:
    """Write the source's rows with the judges' verdicts.

    Args:
        reader: makes answers of the source's records.
        output: of the same format as the source.
        prefix: put before the names of the new columns.
        force: write over an output that is there.
        tell: hears of the progress.
        adapter: of these judges; moves their scores once all are there.

    Returns:
        What came out.

    Raises:
        InputError: see `check_output`; the source is damaged, or has a column of a new one's name.
        SystemExit: the process was asked to stop; what was judged is kept.
    """
    check_output(source, output, force)
    store = work_folder(output)
    tally = Tally([chosen.name for chosen in judges])
    new = [prefix + name for name in new_columns(judges)]
    check_new(source, new)
    judged_parts = partial(_judged_parts, source, reader, judges, store / "verdicts")
    if adapter is not None:
        for part in judged_parts(tell):
            adapter.add(part.models, part.labels)
        adapter.tell()
    # Not beside the output: what a kill leaves of it goes with the rest of the work.
    whole = store / "whole" / output.name
    whole.parent.mkdir(parents=True, exist_ok=True)
    with writer(source, whole, new) as written:
        # With an adapter all verdicts are there already.
        for part in judged_parts(tell if adapter is None else _nobody):
            labels = part.labels if adapter is None else adapter.adapted(part.models, part.labels)
            written.write(part.chunk, dict(zip(new, _columns(labels), strict=True)))
            tally.add(part.models, part.questions, labels)
    whole.replace(output)
    resume.clear(store)
    return tally


def work_folder(output: Path) -> Path:
    """Where what is judged lies until the output is whole."""
    return output.parent / f".{output.name}.parts"


def check_output(source: RowFile, output: Path, force: bool) -> None:
    """Refuse what would destroy a file or give it a wrong name.

    Raises:
        InputError: the output is the source, is there already, has another format's ending, or its folder is missing.
    """
    if output.resolve() == source.path.resolve():
        raise InputError(f"{output}: is the file that is read; name another with -o")
    if output.suffix.lower() != source.path.suffix.lower():
        raise InputError(f"{output}: is written in the format of {source.path.name}; let its name end in {source.path.suffix}")
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it")
    if output.exists() and not force:
        raise InputError(f"{output}: is there already; add --force to write over it, or name another with -o")
    if not output.parent.is_dir():
        raise InputError(f"{output}: its folder does not exist; make it, or name another with -o")


def new_columns(judges: Sequence[Chosen]) -> list[str]:
    """Names of the columns that verdicts take: with several judges each has its own."""
    names = ("verdict", "score", "reason")
    return list(names) if len(judges) == 1 else [f"{chosen.name}_{name}" for chosen in judges for name in names]


def judged(chosen: Chosen, rows: Sequence[Row | Label | None]) -> list[Label | None]:
    """One label per row; a row that is a label already, or None, stays what it is.

    Raises:
        ValueError: the judge gave too few or too many labels; a fault of the judge.
    """
    open_rows = [row for row in rows if isinstance(row, Row)]
    labels = chosen.judge.judge(open_rows) if open_rows else []
    if len(labels) != len(open_rows):
        raise ValueError(f"judge {chosen.name}: {len(labels)} labels for {len(open_rows)} answers")
    remaining = iter(labels)
    return [next(remaining) if isinstance(row, Row) else row for row in rows]


def prepared(reader: Reader, record: Mapping[str, Any]) -> Row | Label | None:
    """A record as a judge takes it; a label where it cannot be judged, None where there is nothing to judge."""
    found = _row(reader, record)
    return found.row if isinstance(found, _Known) else found


@dataclass(frozen=True)
class _Part:
    """Some rows of the file: their models and questions, "" where there are none, and per judge one label per row."""

    chunk: Chunk
    models: list[str]
    questions: list[str]
    labels: list[list[Label | None]]


def _judged_parts(source: RowFile, reader: Reader, judges: Sequence[Chosen], folder: Path, tell: Tell) -> Iterator[_Part]:
    """The file with its labels, a part at a time; what lies in the folder is not judged again."""
    for number, chunk in enumerate(source.chunks(CHUNK_ROWS)):
        rows = [_row(reader, record) for record in chunk.records]
        labels = [
            _labels(chosen, rows, folder / chosen.name / f"{number:06d}", lambda n: tell(n, chunk.read))  # noqa: B023
            for chosen in judges
        ]
        answers = [row.answer if isinstance(row, _Known) else None for row in rows]
        yield _Part(chunk, [a.model if a else "" for a in answers], [a.question if a else "" for a in answers], labels)
        tell(0, chunk.read)


class _Known:
    """An answer, with the row that a judge sees, or the label that it has without one."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        # A trained judge would take unfinished thoughts for an answer.
        said = extraction.without_reasoning(answer.candidate)
        row = Row("", 0, answer.model, answer.question, answer.references, said or "")
        self.row: Row | Label = invalid("unfinished reasoning") if said is None else row


def _row(reader: Reader, record: Mapping[str, Any]) -> _Known | Label | None:
    try:
        # A record of several answers has one verdict: that on the first.
        return _Known(reader(record)[0])
    except values.UnreadableCell as fault:
        return invalid(str(fault))
    except Skipped:
        return None


def _labels(chosen: Chosen, rows: Sequence[_Known | Label | None], folder: Path, tell: Callable[[int], None]) -> list[Label | None]:
    """A judge's labels on some rows, in shards that survive a kill."""
    plain = [row.row if isinstance(row, _Known) else row for row in rows]
    open_rows = [row for row in plain if isinstance(row, Row)]

    def work(some: Sequence[Row]) -> list[dict[str, Any]]:
        labels = [label.kept() for label in chosen.judge.judge(some)]
        tell(len(some))
        return labels

    keys = [resume.content_key(chosen.origin, row.question, row.references, row.candidate) for row in open_rows]
    found: Iterator[Mapping[str, Any]] = iter(
        resume.run_resumable(open_rows, keys, work, folder, SHARD_ROWS, "verdicts") if open_rows else []
    )
    return [restored(next(found)) if isinstance(row, Row) else row for row in plain]


def _columns(labels: Sequence[Sequence[Label | None]]) -> list[list[Any]]:
    """Per judge its verdicts, scores and reasons."""
    return [[getattr(label, name, None) for label in column] for column in labels for name in ("verdict", "score", "reason")]
