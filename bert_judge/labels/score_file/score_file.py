"""Scoring of a file: the same file with verdict columns appended, in chunks, so that it may have any size and scoring can resume.

Until the output is complete, verdicts are stored in `.{output}.parts` in the same folder. A repeated call reuses every stored
verdict of the same judge on the same answer, if the same state of this program gave it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.importers.answers import RecordReader, SkippedRecord
from bert_judge.judges.protocol import Label, Row, from_record, invalid
from bert_judge.labels.attempts import with_attempt
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file.tally import Tally
from bert_judge.labels.score_file.writers import check_new_columns, open_writer
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.program import program
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, RowFile
from bert_judge.text.visible_text import UNFINISHED, strip_reasoning

# Rows held in memory at once, and rows per shard: the most that a kill can lose.
CHUNK_ROWS, SHARD_ROWS = 4096, 256
# Columns per judge, which are the names of attributes of a label.
ADDED_COLUMNS = ("verdict", "outcome", "score", "reason")
# Called after each shard with the fraction of the file that is read, and the number of newly judged rows over all judges.
OnProgress = Callable[[float, int], None]


def score_file(
    source: RowFile,
    reader: RecordReader,
    output: Path,
    judges: Sequence[NamedJudge],
    *,
    prefix: str = "",
    force: bool = False,
    on_progress: OnProgress = lambda fraction, rows: None,
) -> Tally:
    """Write the source's rows with the judges' verdicts, in the source's format.

    Args:
        reader: of the source's records.

    Raises:
        InputError: see `claim_output`; the source is damaged, or already has a column with the name of a new one.
        SystemExit: stopped by SIGTERM; the verdicts so far are saved.
    """
    work = work_folder(output)
    tally = Tally([judge.name for judge in judges])
    new_columns = [prefix + name for name in output_columns(judges)]
    check_new_columns(source.path, source.columns, new_columns)
    with claim_output(source, output, force):
        with tables.atomic(output) as unfinished, open_writer(source, unfinished, new_columns) as write:
            for number, chunk in enumerate(source.chunks(CHUNK_ROWS)):
                records = [_parse(reader, record) for record in chunk.records]
                report = partial(on_progress, chunk.fraction_read)
                folders = [work / "verdicts" / judge.name / f"{number:06d}" for judge in judges]
                labels = [
                    _load_or_judge(judge, [record.input for record in records], folder, report)
                    for judge, folder in zip(judges, folders, strict=True)
                ]
                values = [[_cell(label, name) for label in column] for column in labels for name in ADDED_COLUMNS]
                write(chunk, dict(zip(new_columns, values, strict=True)))
                models, questions = [record.model for record in records], [record.question for record in records]
                tally.add(models, questions, [record.label for record in records], labels)
                report(0)
        resume.clear(work)
    return tally


def _cell(label: Label | None, column: str) -> Any:
    """Return the value of a new column; the reason begins with the grades, if the judge gives any."""
    value = getattr(label, column, None)
    if column != "reason" or label is None or not label.aspects:
        return value
    return f"{', '.join(f'{aspect} {grade:g}' for aspect, grade in label.aspects.items())}: {value}"


def work_folder(output: Path) -> Path:
    """Return the folder of the verdicts until the output is complete."""
    return tables.hidden_path(output, ".parts")


@contextmanager
def claim_output(source: RowFile, output: Path, force: bool) -> Iterator[None]:
    """Reserve an output, unless it would destroy a file or have a misleading name; see `tables.claim_output`.

    Raises:
        InputError: also if the output has the ending of another format.
    """
    if output.suffix.lower() != (suffix := source.container.output_suffix).lower():
        raise InputError(f"{output}: is written in the format of {source.path.name}; let its name end in {suffix}")
    with tables.claim_output(output, source.path, force=force):
        yield


def output_columns(judges: Sequence[NamedJudge]) -> list[str]:
    """Return the names of the new columns; with several judges they have the judge's name as a prefix."""
    return list(ADDED_COLUMNS) if len(judges) == 1 else [f"{judge.name}_{name}" for judge in judges for name in ADDED_COLUMNS]


def judge_rows(judge: NamedJudge, rows: Sequence[Row | Label | None]) -> list[Label | None]:
    """Return one label per row; a row that is already a label, or None, stays as it is.

    Raises:
        ValueError: the judge returned too few or too many labels, which is a bug in the judge.
    """
    pending = [row for row in rows if isinstance(row, Row)]
    labels = judge.judge.judge(pending) if pending else []
    if len(labels) != len(pending):
        raise ValueError(f"judge {judge.name}: {len(labels)} labels for {len(pending)} answers")
    remaining = map(with_attempt, labels, pending)
    return [next(remaining) if isinstance(row, Row) else row for row in rows]


def to_row(reader: RecordReader, record: Record) -> Row | Label | None:
    """Return a record as the input of a judge; a label if it cannot be judged, None if there is nothing to judge."""
    return _parse(reader, record).input


@dataclass(frozen=True)
class _ParsedRecord:
    """The input of a judge, see `to_row`, with the answer's model and question, "" if unknown, and label, 0 to 1 or None."""

    input: Row | Label | None
    model: str = ""
    question: str = ""
    label: float | None = None


def _parse(reader: RecordReader, record: Record) -> _ParsedRecord:
    try:
        # A record with several answers has one verdict: that on the first.
        answer = reader(record)[0]
    except values.UnreadableCell as error:
        return _ParsedRecord(invalid(str(error)))
    except SkippedRecord:
        return _ParsedRecord(None)
    # A trained judge would take unfinished reasoning for an answer.
    candidate = strip_reasoning(answer.candidate)
    row = Row("", 0, answer.model, answer.question, answer.references, candidate or "")
    unfinished = invalid(UNFINISHED, is_attempted=False)
    return _ParsedRecord(unfinished if candidate is None else row, answer.model, answer.question, answer.label)


def _load_or_judge(
    judge: NamedJudge, inputs: Sequence[Row | Label | None], folder: Path, report: Callable[[int], None]
) -> list[Label | None]:
    """Return a judge's labels on some rows, saved in shards."""
    pending = [row for row in inputs if isinstance(row, Row)]

    def compute(rows: Sequence[Row]) -> list[dict[str, Any]]:
        labels = [label.to_record() for label in judge.judge.judge(rows)]
        report(len(rows))
        return labels

    # Another state of the program may judge otherwise.
    keys = [resume.content_key(program(), judge.origin, row.question, row.references, row.candidate) for row in pending]
    results = resume.run_resumable(pending, keys, compute, folder, SHARD_ROWS, "verdicts") if pending else []
    remaining = map(with_attempt, map(from_record, results), pending)
    return [next(remaining) if isinstance(row, Row) else row for row in inputs]
