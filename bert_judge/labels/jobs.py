"""Label jobs of a run: one table of labels, or several tables (or rows of them) with one judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bert_judge.judges import registry
from bert_judge.judges.protocol import Judge, LazyJudge
from bert_judge.judges.registry import LoadContext
from bert_judge.labels.stage import compare_pairs, label_table, prelabel_tables
from bert_judge.runtime.resume import Batch, store_folder, work_folder

Spec = Mapping[str, Any]


def label_job(spec: Spec, inputs: Mapping[str, Any], output: str, block: Spec, check_device: Callable[[], None]) -> None:
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
        with _loaded(spec, inputs, block, check_device) as judge:
            label_table(spec, inputs["candidates"], output, judge, _progress_folder(spec, output))


def prelabel_job(
    specs: Mapping[str, Spec], inputs: Mapping[str, Any], output: str, block: Spec, check_device: Callable[[], None]
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

    with _loaded(spec, inputs, block, check_device) as judge:
        prelabel_tables(Batch(specs, answers), output, judge, folder)


def compare_job(spec: Spec, inputs: Mapping[str, Any], output: str, block: Spec, check_device: Callable[[], None]) -> None:
    """Write a table of preferences, of any kind of pairwise judge; see `label_job`.

    Args:
        spec: `Plan.preferences_spec`.
        inputs: the tables of the set as `pairs`, and the files of `JudgeKind.inputs`.
    """
    store = store_folder(f"verdicts/{spec['judge']}/pairs")
    judge = registry.find(spec["settings"]["kind"]).load(LoadContext(spec, inputs, block, None, store, check_device))
    compare_pairs(spec, inputs["pairs"], output, judge, store_folder(f"preferences/{spec['judge']}"))


def _context(spec: Spec, inputs: Mapping[str, Any], block: Spec, check_device: Callable[[], None]) -> LoadContext:
    encoders, store = work_folder(f"results/encoders/{spec['judge']}"), store_folder(f"verdicts/{spec['judge']}/{spec['model']}")
    return LoadContext(spec, inputs, block, encoders, store, check_device)


@contextmanager
def _loaded(spec: Spec, inputs: Mapping[str, Any], block: Spec, check_device: Callable[[], None]) -> Iterator[Judge]:
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
