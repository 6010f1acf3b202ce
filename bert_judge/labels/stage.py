"""The stage that writes a judge's verdicts on a table of answers: one row per answer, whatever became of it."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import Judge, Label, Row, invalid, restored
from bert_judge.runtime import resume

if TYPE_CHECKING:
    from bert_judge.runtime.batch_manifest import Batch

log = logging.getLogger(__name__)

# Answers, with their verdicts, held in memory at once. It is the bound of a job's memory, however long its table is: beside them
# there are the judge itself and eight bytes a row for the check that no key repeats.
BATCH_ROWS = 16_384
# Verdicts per shard: the most that a kill can lose.
SHARD_ROWS = 1024


def label_table(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    judge: Judge,
    work_folder: str | Path | None = None,
    shard_rows: int = SHARD_ROWS,
    rows: range | None = None,
    keep: bool = False,
) -> None:
    """Judge every answer of a candidates table. An answer that failed to be generated is invalid for every judge.

    Args:
        spec: `Plan.labels_spec`.
        work_folder: keeps the finished shards until the table is written, for judges whose verdicts are dear; None: a killed job
            starts again. A verdict is taken from there only if spec, judge's revisions and answer are the same.
        shard_rows: verdicts per shard, the most that a kill can lose.
        rows: judge these rows of the table only.
        keep: leave the verdicts in the work folder, for the job that writes the table.

    Raises:
        InputError: the candidates cannot be read, or the judge refuses its input.
        ValueError: the judge gave too few or too many labels, or an invalid one with a score; a fault of the judge.
    """
    work_folder = None if work_folder is None else Path(work_folder)
    found: Counter[str] = Counter()

    def parts() -> Iterator[pd.DataFrame]:
        for number, batch in enumerate(_answers(candidates, rows)):
            folder = None if work_folder is None else work_folder / f"{number:05d}"
            frame = _labelled(spec, batch, judge, folder, shard_rows)
            found.update(frame["verdict"])
            yield frame

    tables.write_parts(parts(), output, tables.LABELS, spec, judge.revisions)
    if work_folder is not None and not keep:
        resume.clear(work_folder)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], counts or "no answers")


def _answers(candidates: str | Path, rows: range | None) -> Iterator[pd.DataFrame]:
    """The answers of a table in frames of bounded size, or some of its rows."""
    at = 0
    for batch in tables.read_batches(candidates, tables.CANDIDATES, BATCH_ROWS):
        wanted = batch if rows is None else batch.iloc[max(0, rows.start - at) : max(0, rows.stop - at)]
        at += len(batch)
        if not wanted.empty:
            yield wanted.reset_index(drop=True)


def fill_store(batch: Batch, output: str | Path, judge: Judge, folder: Callable[[str], Path] | None = None) -> None:
    """Have a judge look at several tables, loading it once, so that their own jobs only write what it said.

    Args:
        batch: the tables; its inputs are the answers.
        output: the note that says what was judged.
        folder: task → the work folder in which the verdicts wait; None for a judge that keeps what it says itself.
    """
    # It brings the configuration's classes: a third of a second that light jobs need not pay.
    from bert_judge.runtime import batch_manifest

    with tempfile.TemporaryDirectory() as scratch:
        for task, part in batch.parts.items():
            answers, table = batch.inputs[f"answers {task}"], Path(scratch, f"{task}.parquet")
            label_table(part["verdicts"], answers, table, judge, folder(task) if folder else None, keep=True)
    batch_manifest.write_manifest(batch, output)


def _labelled(spec: Mapping[str, Any], batch: pd.DataFrame, judge: Judge, folder: Path | None, shard_rows: int) -> pd.DataFrame:
    """The label rows of some answers, in their order."""
    failed = (batch["status"] == "error").tolist()
    rows = [
        Row(row["sample_id"], int(row["attempt"]), row["model"], row["question"], tuple(row["references"]), row["candidate"])
        for row, has_failed in zip(batch.to_dict("records"), failed, strict=True)
        if not has_failed
    ]

    def work(some: Sequence[Row]) -> list[dict[str, Any]]:
        return [label.kept() for label in _checked(judge.judge(some), some, spec["judge"])]

    if folder is None:
        results: Sequence[Mapping[str, Any]] = work(rows) if rows else []
    else:
        origin = tables.canonical({"spec": spec, "revisions": judge.revisions})
        keys = [resume.content_key(origin, row) for row in rows]
        results = resume.run_resumable(rows, keys, work, folder, shard_rows, unit="verdicts")
    remaining = map(restored, results)
    labels = [invalid("generation failed") if has_failed else next(remaining) for has_failed in failed]
    verdicts = pd.DataFrame([vars(label) for label in labels], columns=[field.name for field in fields(Label)])
    return pd.concat([batch[["sample_id", "attempt", "model"]].assign(judge=spec["judge"]), verdicts], axis=1)


def _checked(labels: Sequence[Label], rows: Sequence[Row], judge: str) -> Sequence[Label]:
    if len(labels) != len(rows):
        raise ValueError(f"judge {judge}: {len(labels)} labels for {len(rows)} answers")
    for row, label in zip(rows, labels, strict=True):
        if (label.verdict == "invalid") != (label.score is None):
            raise ValueError(f"judge {judge}: answer {row.sample_id}: verdict {label.verdict} with score {label.score}")
    return labels
