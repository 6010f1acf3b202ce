"""Group the tables of one model into batches that one job produces, so that an expensive model is loaded once.

Such a job writes a manifest. A light job then writes each table, so every table stays a target of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.plan import Plan
from bert_judge.runtime.batch_manifest import Batch, read_manifests
from bert_judge.tables import selections

Pairs = Set[tuple[str, str]]


class Batches(NamedTuple):
    """Batches of a model.

    Attributes:
        by_name: batch name → batch.
        batch_by_task: task → name of its batch.
        done: names of the batches that have a manifest.
    """

    by_name: Mapping[str, Batch]
    batch_by_task: Mapping[str, str]
    done: frozenset[str]


def plan_answer_batches(plan: Plan, model: str, pairs: Pairs, folder: str | Path) -> Batches:
    """Return the batches that earlier runs answered, and one new batch of all other required tables.

    Args:
        pairs: (model, task) of the tables that this run requires.
        folder: folder of the manifests, `{name}.json`.
    """
    current = {task: _answers_spec(plan, model, task) for task in plan.tasks if plan.answers(model, task)}
    needed = {task for task in current if (model, task) in pairs}
    return _batches(current, needed, folder, partial(_question_inputs, plan))


def plan_label_batches(plan: Plan, judge: str, model: str, needed: Set[tuple[str, str, str]], folder: str | Path) -> Batches:
    """Return the batches of a judge's labels on the answers of a model, or on a selection of answers.

    Args:
        needed: (judge, model, task) of the label tables that this run requires.
        folder: folder of the manifests.
    """
    current = {
        task: {"verdicts": plan.labels_spec(judge, model, task), **_answers_spec(plan, model, task)}
        for task in _tasks_with_answers(plan, model)
    }
    batched_tasks = {task for task in current if (judge, model, task) in needed}
    return _batches(current, batched_tasks, folder, _answer_inputs(model))


def plan_encoder_batches(
    plan: Plan,
    judge: str,
    model: str,
    needed: Set[tuple[str, str, str]],
    folder: str | Path,
    is_single: Callable[[str], bool],
) -> Batches:
    """Return the batches of a trained encoder, which loads quickly: a single required table is labelled by its own job.

    Args:
        is_single: returns whether a task's table is labelled in shards or already exists. Such a table has its own job unless a
            batch produced it, so a finished table never joins a batch.
    """
    training = training_specs(plan, judge)
    current = {
        task: {"verdicts": plan.labels_spec(judge, model, task), **training, **_answers_spec(plan, model, task)}
        for task in _tasks_with_answers(plan, model)
    }
    tasks_in_batches = {task for batch in read_manifests(folder).values() for task in batch.specs}
    batched_tasks = {
        task for task in current if (judge, model, task) in needed and (task in tasks_in_batches or not is_single(task))
    }
    return _batches(current, batched_tasks, folder, _answer_inputs(model), min_size=2)


def training_specs(plan: Plan, judge: str) -> dict[str, Any]:
    """Return the specs that the weights of a trained judge depend on; other weights mean another batch."""
    dataset = getattr(plan.config.judges[judge], "dataset", None)
    return {"training": plan.judge_spec(judge), "dataset": plan.dataset_spec(dataset)} if dataset else {}


def _batches(
    current: Mapping[str, Mapping[str, Any]],
    needed: Set[str],
    folder: str | Path,
    inputs: Callable[[list[str]], dict[str, str]],
    min_size: int = 1,
) -> Batches:
    """Keep a table in its batch while its spec is the same, so that a new table does not make other tables stale.

    Args:
        current: task → current spec of its table.
        needed: tasks of the tables that this run requires.
        inputs: returns the input files of a batch of these tasks.
        min_size: minimum number of tables in a new batch. With 1, a table that is not required has a batch of its own too.
    """
    manifests = read_manifests(folder)
    batch_by_task = {
        task: name for name, batch in manifests.items() for task, spec in batch.specs.items() if current.get(task) == spec
    }
    new = [task for task in current if task in needed and task not in batch_by_task]
    groups = ([[task] for task in current] if min_size == 1 else []) + ([new] if len(new) >= min_size else [])
    new_batches = [Batch({task: current[task] for task in sorted(group)}, inputs(sorted(group))) for group in groups]
    # The last entry wins: the batch of all required tables.
    batch_by_task = {task: batch.name for batch in new_batches for task in batch.specs} | batch_by_task
    return Batches({batch.name: batch for batch in new_batches} | manifests, batch_by_task, frozenset(manifests))


def _tasks_with_answers(plan: Plan, model: str) -> list[str]:
    """Return the tasks that a model has answers to; for held-out rows, the name of the validation table."""
    match selections.parse(model):
        case selections.HeldOut():
            return [selections.VALIDATION]
        case selections.Escalated(model=base):
            return [task for task in plan.tasks if plan.answers(base, task)]
        case None:
            return [task for task in plan.tasks if plan.answers(model, task)]


def _answers_spec(plan: Plan, model: str, task: str) -> dict[str, Any]:
    match selections.parse(model):
        case selections.HeldOut(dataset=dataset):
            return {"held_out": plan.dataset_spec(dataset)}
        case selections.Escalated(model=base):
            model = base
    return {"answers": plan.candidates_spec(model, task), "questions": plan.task_spec(task)}


def _answer_inputs(model: str) -> Callable[[list[str]], dict[str, str]]:
    return lambda names: {f"answers {task}": f"results/candidates/{model}/{task}.parquet" for task in names}


def _question_inputs(plan: Plan, names: Iterable[str]) -> dict[str, str]:
    inputs: dict[str, str] = {}
    for task in names:
        if (source := plan.source_file(task)) is not None:
            inputs[f"source {task}"] = str(source)
        if (asset := f"task-{task}") in plan.assets:
            inputs[f"manifest {task}"] = f"results/prepared/{asset}.json"
    return inputs
