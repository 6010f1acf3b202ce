"""The stage that applies a judge to a table of answers, or of pairs: one row each, including those that cannot be judged.

The jobs at the end find a judge's kind and load it; they are what the scripts of the workflow call.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges import registry
from bert_judge.judges.protocol import (
    LABEL_COLUMNS,
    Judge,
    LazyJudge,
    Pair,
    PairJudge,
    Preference,
    Row,
    invalid,
    invalid_preference,
    model_revisions,
)
from bert_judge.judges.registry import LoadContext
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import LabelStore, judge_rows, without_reasoning
from bert_judge.runtime import resume
from bert_judge.runtime.resume import Batch, store_folder, work_folder

Spec = Mapping[str, Any]
log = logging.getLogger(__name__)

# Answers held in memory at once with their labels, which bounds the memory of a job.
BATCH_ROWS = 16_384
# Labels per shard of a work folder, and preferences: the most that a kill can lose, besides labels that are computed ahead.
SHARD_ROWS, PAIR_SHARD_ROWS = 1024, 512
FAILED = "generation failed"


def label_table(
    spec: Spec,
    candidates: str | Path,
    output: str | Path,
    judge: Judge,
    *,
    work_folder: str | Path | None = None,
    keep: bool = False,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Label every answer of a candidate table, without its reasoning.

    An answer whose generation failed, or whose reasoning is unfinished, is invalid for every judge.

    Args:
        spec: `Plan.labels_spec`.
        work_folder: keeps finished labels until the table is written, those of other jobs included (`prelabel_tables`); None: a
            killed job starts again. A label is reused only if spec, revisions of the judge and answer are the same.
        keep: leave the labels in that folder, for a later call; otherwise they are deleted once the table is written.
        shard_rows: labels per file of the work folder.

    Raises:
        InputError: the candidates cannot be read, or the judge refuses its input.
        ValueError: the judge returned the wrong number of labels, or an invalid one with a score; a bug of the judge.
    """
    frames = _label_frames(spec, candidates, judge, work_folder, shard_rows=shard_rows)
    _write(frames, output, tables.LABELS, spec, judge=judge, subject=f"{spec['model']}, {spec['task']}")
    if work_folder is not None and not keep:
        resume.clear(work_folder)


def _write(
    frames: Iterator[pd.DataFrame],
    output: str | Path,
    schema: tables.Schema,
    spec: Spec,
    *,
    judge: Judge | PairJudge,
    subject: str,
) -> None:
    """Write a table of verdicts and log how many there are of each."""
    verdicts: Counter[str] = Counter()

    def counted_frames() -> Iterator[pd.DataFrame]:
        for frame in frames:
            verdicts.update(frame["verdict"])
            yield frame

    tables.write_parts(counted_frames(), output, schema, spec, revisions=judge.revisions)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    log.info("%s on %s: %s", spec["judge"], subject, counts or "no rows")


def prelabel_tables(batch: Batch, output: str | Path, judge: Judge, folder: Callable[[str], Path | None]) -> None:
    """Label several tables with a judge that is loaded once; the job of each table then only writes the finished labels.

    Args:
        batch: the tables; its inputs are the answers. With a `shard` in the spec of a table (`2-of-4`), only these rows.
        output: manifest of the batch.
        folder: task → work folder of the finished labels; None for a judge that caches its model's completions.
    """
    for task, specs in batch.specs.items():
        answers = batch.inputs[f"answers {task}"]
        number, count = map(int, specs.get("shard", "1-of-1").split("-of-"))
        total = tables.count(answers)
        rows = range(total * (number - 1) // count, total * number // count)
        for _ in _label_frames(specs["verdicts"], answers, judge, folder(task), shard_rows=SHARD_ROWS, rows=rows):
            pass
    resume.write_manifest(batch, output)


def _label_frames(
    spec: Spec,
    candidates: str | Path,
    judge: Judge,
    work_folder: str | Path | None,
    *,
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
            yield _label_answers(spec, selected.reset_index(drop=True), judge, folder, shard_rows=shard_rows)


def _label_answers(spec: Spec, answers: pd.DataFrame, judge: Judge, folder: Path | None, *, shard_rows: int) -> pd.DataFrame:
    inputs = [
        invalid(FAILED)
        if row["status"] == "error"
        else without_reasoning(
            Row(row["sample_id"], int(row["attempt"]), row["model"], row["question"], tuple(row["references"]), row["candidate"])
        )
        for row in answers.to_dict("records")
    ]
    origin = tables.canonical({"spec": spec, "revisions": model_revisions(judge.revisions)})
    store = None if folder is None else LabelStore(folder, shard_rows)
    truncated = (answers["status"] == "truncated").tolist()
    labels = judge_rows(NamedJudge(spec["judge"], origin, judge), inputs, truncated=truncated, store=store)
    columns = pd.DataFrame([[getattr(label, name) for name in LABEL_COLUMNS] for label in labels], columns=LABEL_COLUMNS)
    return pd.concat([answers[["sample_id", "attempt", "model"]].assign(judge=spec["judge"]), columns], axis=1)


def compare_pairs(spec: Spec, shards: Sequence[str | Path], output: str | Path, judge: PairJudge, *, folder: str | Path) -> None:
    """Compare every pair of a set; a pair with an answer whose generation failed is invalid for every judge.

    Args:
        spec: `Plan.preferences_spec`.
        shards: the tables of the set.
        folder: keeps the valid preferences, so that a set that grows compares its new pairs only. One is reused only if spec,
            revisions of the judge and pair are the same.

    Raises:
        InputError: the pairs cannot be read, or the judge refuses its input.
        ValueError: the judge returned the wrong number of preferences, which is a bug in the judge.
    """
    frames = (_compare_frame(spec, tables.read(path, tables.PAIRS), judge, folder) for path in shards)
    _write(frames, output, tables.PREFERENCES, spec, judge=judge, subject=spec["set"])


def _compare_frame(spec: Spec, pairs: pd.DataFrame, judge: PairJudge, folder: str | Path) -> pd.DataFrame:
    has_failed = (pairs[["status_a", "status_b"]] == "error").any(axis=1)
    pending = [_to_pair(row) for row in pairs[~has_failed].to_dict("records")]

    def compare(batch: Sequence[Pair]) -> list[dict[str, Any]]:
        preferences = judge.compare(batch)
        if len(preferences) != len(batch):
            raise ValueError(f"judge {spec['judge']}: {len(preferences)} preferences for {len(batch)} pairs")
        return [_to_record(preference) for preference in preferences]

    def should_cache(record: Mapping[str, Any]) -> bool:
        return bool(record["verdict"] != "invalid")

    origin = tables.canonical({"spec": spec, "revisions": model_revisions(judge.revisions)})
    keys = [resume.content_key(origin, pair) for pair in pending]
    results = iter(
        resume.run_resumable(
            pending, keys, partial(map, compare), folder, shard_rows=PAIR_SHARD_ROWS, unit="pairs", should_cache=should_cache
        )
    )
    failed = _to_record(invalid_preference(FAILED))
    records = pd.DataFrame([failed if has_no_answer else next(results) for has_no_answer in has_failed], columns=list(failed))
    identity = pairs[["pair_id", "sample_id", "task", "model_a", "model_b"]]
    return pd.concat([identity.assign(judge=spec["judge"]), records], axis=1)


def _to_pair(row: Mapping[Any, Any]) -> Pair:
    references = row["references"] if isinstance(row["references"], list) else []
    return Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))


def _to_record(preference: Preference) -> dict[str, Any]:
    names = ("verdict", "score", "consistent", "reason", "raw", "truncated", "prompt_tokens", "completion_tokens")
    record = {name: getattr(preference, name) for name in names}
    record |= {name: tables.storable(record[name]) for name in ("reason", "raw")}
    for order in ("forward", "backward"):
        verdict = getattr(preference, order)
        record |= {order: verdict.verdict, f"{order}_score": verdict.score}
    return record


def label_job(spec: Spec, inputs: Mapping[str, Any], output: str, block: Spec, *, check_device: Callable[[], None]) -> None:
    """Write a table of labels, of any kind of judge.

    Args:
        spec: `Plan.labels_spec`.
        inputs: the answers as `candidates`, and the files of `JudgeKind.label_inputs`.
        block: the judge's block of the configuration.
        check_device: raises `InputError` when a cluster job did not get its GPUs.
    """
    kind = registry.find(spec["settings"]["kind"])
    if kind.combines_labels:
        kind.combine_labels(_context(spec, inputs, block, check_device), Path(output))
    else:
        with loaded_judge(spec, inputs, block, check_device) as judge:
            label_table(spec, inputs["candidates"], output, judge, work_folder=_progress_folder(spec, output))


def prelabel_job(
    specs: Mapping[str, Spec], inputs: Mapping[str, Any], output: str, block: Spec, *, check_device: Callable[[], None]
) -> None:
    """Label several tables of one model, or some rows of each, with a judge that is loaded once; see `prelabel_tables`.

    Args:
        specs: `Batch.specs`.
        inputs: the answers as `answers {task}`, and the files of `JudgeKind.inputs`.
        output: manifest of the batch.
    """
    spec = next(iter(specs.values()))["verdicts"]
    model = spec.get("selection", spec["model"])
    answers = {name: path for name, path in inputs.items() if name.startswith("answers ")}

    def folder(task: str) -> Path | None:
        return _progress_folder(spec, f"results/labels/{spec['judge']}/{model}/{task}.parquet")

    with loaded_judge(spec, inputs, block, check_device) as judge:
        prelabel_tables(Batch(specs, answers), output, judge, folder)


def compare_job(spec: Spec, inputs: Mapping[str, Any], output: str, block: Spec, *, check_device: Callable[[], None]) -> None:
    """Write a table of preferences, of any kind of pairwise judge; see `label_job`.

    Args:
        spec: `Plan.preferences_spec`.
        inputs: the tables of the set as `pairs`, and the files of `JudgeKind.inputs`.
    """
    store = store_folder(f"verdicts/{spec['judge']}/pairs")
    judge = registry.find(spec["settings"]["kind"]).load(LoadContext(spec, inputs, block, store, check_device))
    compare_pairs(spec, inputs["pairs"], output, judge, folder=store_folder(f"preferences/{spec['judge']}"))


def _context(spec: Spec, inputs: Mapping[str, Any], block: Spec, check_device: Callable[[], None]) -> LoadContext:
    return LoadContext(spec, inputs, block, store_folder(f"verdicts/{spec['judge']}/{spec['model']}"), check_device)


@contextmanager
def loaded_judge(
    spec: Spec, inputs: Mapping[str, Any], block: Spec, check_device: Callable[[], None] = lambda: None
) -> Iterator[Judge]:
    """Load a judge, at its first row if its revisions are known without; its processes end with the context."""
    kind, context = registry.find(spec["settings"]["kind"]), _context(spec, inputs, block, check_device)
    revisions = kind.revisions(context)
    judge: Judge = kind.load(context) if revisions is None else LazyJudge(revisions, lambda: kind.load(context))
    try:
        yield judge
    finally:
        if hasattr(judge, "close"):
            judge.close()


def _progress_folder(spec: Spec, output: str) -> Path | None:
    """Return the folder of finished labels of an unfinished table; None for judges that are fast or cache their completions."""
    kind = registry.find(spec["settings"]["kind"])
    return work_folder(output) if kind.keeps_progress else None
