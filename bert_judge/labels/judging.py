"""The loop over rows that the label stage, `score`, `predict`, `certify`, `serve` and the integrations share: records → labels.

An answer is judged without its reasoning. One whose reasoning is unfinished, or that cannot be read, is invalid for every judge.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import RecordReader, make_column_reader
from bert_judge.judges.protocol import UNFINISHED_FLAG, Label, Row, from_record, invalid, judge_shards
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.runtime import resume
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record
from bert_judge.text.abstention import is_attempted
from bert_judge.text.visible_text import UNFINISHED, strip_reasoning

# What a judge gets of a record: a row, the label of a record that cannot be judged, or None if there is nothing to judge.
JudgeInput = Row | Label | None
# Whether references are needed → reader of records whose keys are the roles.
READ_PLAIN = {
    needs_references: make_column_reader(
        {name: name for name in ("question", "references", "candidate")}, needs_references=needs_references
    )
    for needs_references in (True, False)
}


@dataclass(frozen=True)
class ParsedRecord:
    """The input of a judge, with the answer's model and question, "" if unknown, and label, 0 to 1 or None."""

    input: JudgeInput
    model: str = ""
    question: str = ""
    label: float | None = None


@dataclass(frozen=True)
class LabelStore:
    """A folder that keeps finished labels, `shard_rows` per file, so that a killed call resumes."""

    folder: Path
    shard_rows: int


def parse_record(reader: RecordReader, record: Record) -> ParsedRecord:
    """Read a record; of one with several answers, the first is judged."""
    try:
        answer = reader(record)[0]
    except values.UnreadableCell as error:
        return ParsedRecord(invalid(str(error)))
    except values.SkippedRecord:
        return ParsedRecord(None)
    row = Row("", 0, answer.model, answer.question, answer.references, answer.candidate)
    return ParsedRecord(without_reasoning(row), answer.model, answer.question, answer.label)


def without_reasoning(row: Row) -> Row | Label:
    """Return a row without the reasoning of its answer; a label if that is unfinished, which a trained judge would take for one."""
    candidate = strip_reasoning(row.candidate)
    return invalid(UNFINISHED, is_attempted=False) if candidate is None else replace(row, candidate=candidate)


def judge_records(judge: NamedJudge, reader: RecordReader, records: Sequence[Record]) -> list[Label | None]:
    """Return one label per record, None where there is nothing to judge; see `judge_rows`."""
    return judge_rows(judge, [parse_record(reader, record).input for record in records])


def judge_rows(
    judge: NamedJudge,
    inputs: Sequence[JudgeInput],
    *,
    truncated: Sequence[bool] | None = None,
    store: LabelStore | None = None,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> list[Label | None]:
    """Return one label per input; one that is a label already, or None, stays as it is.

    Args:
        truncated: whether the generation of each answer stopped at its limit.
        store: keeps the labels, but not those of unfinished computations. One is reused only if the judge's origin and the row are
            the same.
        on_progress: called with the number of newly judged rows.

    Raises:
        ValueError: the judge returned the wrong number of labels, or an invalid one with a score; a bug of the judge.
    """

    def compute(shards: Sequence[Sequence[Row]]) -> Iterator[list[Mapping[str, Any]]]:
        for rows, labels in zip(shards, judge_shards(judge.judge, shards), strict=True):
            records: list[Mapping[str, Any]] = [label.to_record() for label in _validated(labels, rows, judge.name)]
            on_progress(len(rows))
            yield records

    pending = [row for row in inputs if isinstance(row, Row)]
    if not pending or store is None:
        results = [record for records in compute([pending]) for record in records] if pending else []
    else:
        keys = [resume.content_key(judge.origin, row) for row in pending]
        results = resume.run_resumable(
            pending, keys, compute, store.folder, shard_rows=store.shard_rows, unit="verdicts", should_cache=_is_finished
        )
    remaining = map(from_record, results)
    cut = truncated or [False] * len(inputs)
    return [
        with_attempt(next(remaining), row, is_truncated=is_truncated) if isinstance(row, Row) else row
        for row, is_truncated in zip(inputs, cut, strict=True)
    ]


def _is_finished(record: Mapping[str, Any]) -> bool:
    return UNFINISHED_FLAG not in record["flags"]


def with_attempt(label: Label, row: Row, *, is_truncated: bool = False) -> Label:
    """Return a label that tells whether its answer attempts the question, unless the judge itself has told or found it correct."""
    if label.verdict == "correct" or label.is_attempted is not None:
        return label
    return replace(label, is_attempted=is_attempted(row.question, row.references, row.candidate, is_truncated=is_truncated))


def _validated(labels: Sequence[Label], rows: Sequence[Row], judge: str) -> Sequence[Label]:
    if len(labels) != len(rows):
        raise ValueError(f"judge {judge}: {len(labels)} labels for {len(rows)} answers")
    for row, label in zip(rows, labels, strict=True):
        if (label.verdict == "invalid") != (label.score is None):
            raise ValueError(f"judge {judge}: answer {row.sample_id}: verdict {label.verdict} with score {label.score}")
    return labels
