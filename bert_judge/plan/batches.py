"""Tables of one model that one job makes together, so that what is dear to load is loaded once.

Such a job leaves a note that says what it did; each table is then written by a light job of its own, and stays a target of its own.
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
    """All batches of a model by name, for each task the name of its own, and the names of those that left a note."""

    by_name: Mapping[str, Batch]
    of_task: Mapping[str, str]
    done: frozenset[str]


def plan_answer_batches(plan: Plan, model: str, pairs: Pairs, folder: str | Path) -> Batches:
    """The batches that earlier runs answered, and one of all that is needed now and in none of them.

    Args:
        pairs: (model, task) of the tables that this run needs.
        folder: where each answered batch left its note, `{name}.json`.
    """
    current = {task: _part(plan, model, task) for task in plan.tasks if plan.answers(model, task)}
    needed = {task for task in current if (model, task) in pairs}
    return _batches(current, needed, folder, partial(_inputs, plan))


def plan_label_batches(plan: Plan, judge: str, model: str, needed: Set[tuple[str, str, str]], folder: str | Path) -> Batches:
    """The same for a judge's verdicts on the answers of a model, or on a selection of answers.

    Args:
        needed: (judge, model, task) of the tables of verdicts that this run needs.
        folder: where each batch left its note.
    """
    current = {
        task: {"verdicts": plan.labels_spec(judge, model, task), **_part(plan, model, task)} for task in _answered(plan, model)
    }
    wanted = {task for task in current if (judge, model, task) in needed}
    return _batches(current, wanted, folder, _answers(model))


def plan_encoder_batches(
    plan: Plan,
    judge: str,
    model: str,
    needed: Set[tuple[str, str, str]],
    folder: str | Path,
    alone: Callable[[str], bool],
) -> Batches:
    """The same for a trained judge, which starts quickly: a table that is needed by itself is judged by its own job, in no batch.

    Args:
        alone: of a task, whether its table is judged in parts, or was made already; then it has a job of its own unless a batch
            made it, so that a finished table is never drawn into one.
    """
    made = trained_by(plan, judge)
    current = {
        task: {"verdicts": plan.labels_spec(judge, model, task), **made, **_part(plan, model, task)}
        for task in _answered(plan, model)
    }
    together = {task for batch in read_manifests(folder).values() for task in batch.parts}
    wanted = {task for task in current if (judge, model, task) in needed and (task in together or not alone(task))}
    return _batches(current, wanted, folder, _answers(model), least=2)


def trained_by(plan: Plan, judge: str) -> dict[str, Any]:
    """What makes the weights of a trained judge: with others, its verdicts are another batch."""
    dataset = getattr(plan.config.judges[judge], "dataset", None)
    return {"training": plan.judge_spec(judge), "dataset": plan.dataset_spec(dataset)} if dataset else {}


def _batches(
    current: Mapping[str, Mapping[str, Any]],
    needed: Set[str],
    folder: str | Path,
    inputs: Callable[[list[str]], dict[str, str]],
    least: int = 1,
) -> Batches:
    """A table stays in its batch while it means the same; so a new table asks for a batch of its own and makes no other stale.

    Args:
        current: task → what its table means now.
        needed: the tasks of the tables that this run needs.
        inputs: of a batch of these tasks.
        least: tables of a new batch; fewer are in none. With 1, a table that is not needed has one of its own, too.
    """
    written = read_manifests(folder)
    of_task = {task: name for name, batch in written.items() for task, part in batch.parts.items() if current.get(task) == part}
    new = [task for task in current if task in needed and task not in of_task]
    groups = ([[task] for task in current] if least == 1 else []) + ([new] if len(new) >= least else [])
    made = [Batch({task: current[task] for task in sorted(group)}, inputs(sorted(group))) for group in groups]
    # The last one wins: the batch of all that is needed.
    of_task = {task: batch.name for batch in made for task in batch.parts} | of_task
    return Batches({batch.name: batch for batch in made} | written, of_task, frozenset(written))


def _answered(plan: Plan, model: str) -> list[str]:
    """The tasks that a model has answers to, or what stands in their place for a selection."""
    match selections.parse(model):
        case selections.HeldOut():
            return [selections.VALIDATION]
        case selections.Escalated(model=base):
            return [task for task in plan.tasks if plan.answers(base, task)]
        case None:
            return [task for task in plan.tasks if plan.answers(model, task)]


def _part(plan: Plan, model: str, task: str) -> dict[str, Any]:
    match selections.parse(model):
        case selections.HeldOut(dataset=dataset):
            return {"held_out": plan.dataset_spec(dataset)}
        case selections.Escalated(model=base):
            model = base
    return {"answers": plan.candidates_spec(model, task), "questions": plan.task_spec(task)}


def _answers(model: str) -> Callable[[list[str]], dict[str, str]]:
    return lambda names: {f"answers {task}": f"results/candidates/{model}/{task}.parquet" for task in names}


def _inputs(plan: Plan, names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for task in names:
        if (source := plan.source_file(task)) is not None:
            found[f"source {task}"] = str(source)
        if (asset := f"task-{task}") in plan.assets:
            found[f"manifest {task}"] = f"results/prepared/{asset}.json"
    return found
