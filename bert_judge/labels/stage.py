"""Label a table of answers with a judge: one row per answer, including those that cannot be judged."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import Judge, Label, Row, from_record, invalid
from bert_judge.judges.visible_text import UNFINISHED, strip_reasoning
from bert_judge.runtime import resume

if TYPE_CHECKING:
    from bert_judge.runtime.batch_manifest import Batch

log = logging.getLogger(__name__)

# Answers held in memory at once with their labels, which bounds the memory of a job.
BATCH_ROWS = 16_384
# Labels per shard of a work folder: the most that a kill can lose.
SHARD_ROWS = 1024


def label_table(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    judge: Judge,
    work_folder: str | Path | None = None,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Label every answer of a candidate table, without its reasoning.

    An answer whose generation failed, or whose reasoning is unfinished, is invalid for every judge.

    Args:
        spec: `Plan.labels_spec`.
        work_folder: keeps finished labels until the table is written, those of other jobs included (`prelabel_tables`); None: a
            killed job starts again. A label is reused only if spec, revisions of the judge and answer are the same.
        shard_rows: labels per file of the work folder, the most that a kill can lose.

    Raises:
        InputError: the candidates cannot be read, or the judge refuses its input.
        ValueError: the judge returned the wrong number of labels, or an invalid one with a score; a bug of the judge.
    """
    verdicts: Counter[str] = Counter()

    def label_frames() -> Iterator[pd.DataFrame]:
        for frame in _label_frames(spec, candidates, judge, work_folder, shard_rows):
            verdicts.update(frame["verdict"])
            yield frame

    tables.write_parts(label_frames(), output, tables.LABELS, spec, judge.revisions)
    if work_folder is not None:
        resume.clear(work_folder)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], counts or "no answers")


def prelabel_tables(batch: Batch, output: str | Path, judge: Judge, folder: Callable[[str], Path | None]) -> None:
    """Label several tables with a judge that is loaded once; the job of each table then only writes the finished labels.

    Args:
        batch: the tables; its inputs are the answers. With a `shard` in the spec of a table (`2-of-4`), only these rows.
        output: manifest of the batch.
        folder: task → work folder of the finished labels; None for a judge that caches its model's completions.
    """
    # Imported lazily: it takes a third of a second.
    from bert_judge.runtime import batch_manifest

    for task, specs in batch.specs.items():
        answers = batch.inputs[f"answers {task}"]
        number, count = map(int, specs.get("shard", "1-of-1").split("-of-"))
        total = tables.count(answers)
        rows = range(total * (number - 1) // count, total * number // count)
        for _ in _label_frames(specs["verdicts"], answers, judge, folder(task), SHARD_ROWS, rows):
            pass
    batch_manifest.write_manifest(batch, output)


def _label_frames(
    spec: Mapping[str, Any],
    candidates: str | Path,
    judge: Judge,
    work_folder: str | Path | None,
    shard_rows: int,
    rows: range | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the labels of a table of answers, or of some of its rows, in frames of bounded size."""
    start = 0
    for number, answers in enumerate(tables.read_batches(candidates, tables.CANDIDATES, BATCH_ROWS)):
        selected = answers if rows is None else answers.iloc[max(0, rows.start - start) : max(0, rows.stop - start)]
        start += len(answers)
        if not selected.empty:
            # One folder per frame, because all files of a folder are searched for finished labels.
            folder = None if work_folder is None else Path(work_folder, f"{number:05d}")
            yield _label_answers(spec, selected.reset_index(drop=True), judge, folder, shard_rows)


def _label_answers(
    spec: Mapping[str, Any], answers: pd.DataFrame, judge: Judge, folder: Path | None, shard_rows: int
) -> pd.DataFrame:
    """Return the label rows of some answers, in their order."""
    texts = [strip_reasoning(candidate) for candidate in answers["candidate"]]
    reasons = [
        "generation failed" if status == "error" else UNFINISHED if text is None else None
        for status, text in zip(answers["status"], texts, strict=True)
    ]
    rows = [
        Row(row["sample_id"], int(row["attempt"]), row["model"], row["question"], tuple(row["references"]), text or "")
        for row, text, reason in zip(answers.to_dict("records"), texts, reasons, strict=True)
        if reason is None
    ]

    def judge_rows(some: Sequence[Row]) -> list[dict[str, Any]]:
        return [label.to_record() for label in _validated(judge.judge(some), some, spec["judge"])]

    if folder is None:
        results: Sequence[Mapping[str, Any]] = judge_rows(rows) if rows else []
    else:
        origin = tables.canonical({"spec": spec, "revisions": judge.revisions})
        keys = [resume.content_key(origin, row) for row in rows]
        results = resume.run_resumable(rows, keys, judge_rows, folder, shard_rows, unit="verdicts")
    remaining = map(from_record, results)
    labels = [next(remaining) if reason is None else invalid(reason) for reason in reasons]
    columns = pd.DataFrame([vars(label) for label in labels], columns=[field.name for field in fields(Label)])
    return pd.concat([answers[["sample_id", "attempt", "model"]].assign(judge=spec["judge"]), columns], axis=1)


def _validated(labels: Sequence[Label], rows: Sequence[Row], judge: str) -> Sequence[Label]:
    if len(labels) != len(rows):
        raise ValueError(f"judge {judge}: {len(labels)} labels for {len(rows)} answers")
    for row, label in zip(rows, labels, strict=True):
        if (label.verdict == "invalid") != (label.score is None):
            raise ValueError(f"judge {judge}: answer {row.sample_id}: verdict {label.verdict} with score {label.score}")
    return labels
