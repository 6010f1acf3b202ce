"""Group the tables of one model into batches that one job produces, so that an expensive model is loaded once.

Such a job writes a manifest. A light job then writes each table, so every table stays a target of its own. A batch of labels may
cover only some rows of each table (a shard), so that several jobs share large tables. The targets of the run decide which tables a
batch contains.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.plan import Plan
from bert_judge.runtime.resume import Batch, read_manifests
from bert_judge.tables import selections

Pairs = Set[tuple[str, str]]
# Name of the only shard of a table that one job covers.
SINGLE_SHARD = "1-of-1"
# Jobs are separate processes, possibly on other machines; they inherit the targets of the run.
TARGETS_VARIABLE = "BERT_JUDGE_TARGETS"


class Batches(NamedTuple):
    """Batches of a model.

    Attributes:
        by_name: batch name → batch.
        names_by_task: task → names of its batches, one per shard.
        done: names of the batches that have a manifest.
    """

    by_name: Mapping[str, Batch]
    names_by_task: Mapping[str, list[str]]
    done: frozenset[str]


def plan_answer_batches(plan: Plan, model: str, pairs: Pairs, folder: str | Path) -> Batches:
    """Return the batches that earlier runs answered, and one new batch of all other required tables.

    Args:
        pairs: (model, task) of the tables that this run requires.
        folder: folder of the manifests, `{name}.json`.
    """
    current = {task: _answers_spec(plan, model, task) for task in plan.tasks if plan.answers(model, task)}
    needed = {task for task in current if (model, task) in pairs}

    def questions(tasks: list[str]) -> dict[str, str]:
        return {f"{name} {task}": str(path) for task in tasks for name, path in plan.task_inputs(task).items()}

    return _plan_batches(current, needed, folder, questions, batch_all=True)


def plan_label_batches(
    plan: Plan,
    judge: str,
    model: str,
    needed: Set[tuple[str, str, str]],
    *,
    folder: str | Path,
    exists: Callable[[str], bool] | None = None,
) -> Batches:
    """Return the batches of a judge's labels on the answers of a model, or on a selection of answers.

    Args:
        needed: (judge, model, task) of the label tables that this run requires.
        folder: folder of the manifests.
        exists: for a judge that loads quickly, returns whether the table of a task exists. Such a table has its own job unless a
            batch produced it, so a finished table never joins a batch, and a single table without shards is no batch.
    """
    # Other weights of a trained judge mean another batch.
    datasets = plan.kind_of(judge).depends_on(plan.config.judges[judge]).datasets
    training = {"training": plan.training_spec(judge)} if judge in plan.trained_judges else {}
    training |= {"datasets": {name: plan.dataset_spec(name) for name in datasets}} if datasets else {}
    current = {
        task: {"verdicts": plan.labels_spec(judge, model, task), **training, **_answers_spec(plan, model, task)}
        for task in _tasks_with_answers(plan, model)
    }
    batched_tasks = {task for task in current if (judge, model, task) in needed}
    if exists is not None:
        tasks_in_batches = {task for batch in read_manifests(folder).values() for task in batch.specs}
        batched_tasks = {task for task in batched_tasks if task in tasks_in_batches or not exists(task)}
    num_shards = getattr(plan.config.judges[judge], "num_shards", 1)

    def answers(tasks: list[str]) -> dict[str, str]:
        return {f"answers {task}": f"results/candidates/{model}/{task}.parquet" for task in tasks}

    return _plan_batches(current, batched_tasks, folder, answers, batch_all=exists is None, num_shards=num_shards)


def _plan_batches(
    current: Mapping[str, Mapping[str, Any]],
    needed: Set[str],
    folder: str | Path,
    inputs: Callable[[list[str]], dict[str, str]],
    *,
    batch_all: bool,
    num_shards: int = 1,
) -> Batches:
    """Keep a table in its batches while its spec is the same, so that a new table does not make other tables stale.

    Args:
        current: task → current spec of its table.
        needed: tasks of the tables that this run requires.
        inputs: returns the input files of a batch of these tasks.
        batch_all: a table that is not required, or the only required one, has a batch too.
        num_shards: number of batches that share a table; a table with manifests keeps its number.
    """
    manifests = read_manifests(folder)
    # Task → shard → name of its batch.
    names: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name, batch in manifests.items():
        for task, spec in batch.specs.items():
            if {key: value for key, value in spec.items() if key != "shard"} == current.get(task):
                names[task][spec.get("shard", SINGLE_SHARD)] = name
    # Shard → tasks whose rows have no manifest.
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for task in sorted(needed):
        count = max((int(shard.rpartition("-")[2]) for shard in names[task]), default=num_shards)
        for number in range(1, count + 1):
            if (shard := f"{number}-of-{count}") not in names[task]:
                missing[shard].append(task)
    if not batch_all and len(missing[SINGLE_SHARD]) == 1:
        del missing[SINGLE_SHARD]
    groups = [(SINGLE_SHARD, [task]) for task in current if batch_all and task not in needed and not names[task]]
    new: dict[str, Batch] = {}
    for shard, group in [*groups, *missing.items()]:
        if group:
            shard_spec = {} if shard == SINGLE_SHARD else {"shard": shard}
            batch = Batch({task: {**current[task], **shard_spec} for task in group}, inputs(group))
            new[batch.name] = batch
            for task in group:
                names[task][shard] = batch.name
    names_by_task = {
        task: [shards[shard] for shard in sorted(shards, key=lambda shard: int(shard.partition("-")[0]))]
        for task, shards in names.items()
        if shards
    }
    return Batches(new | manifests, names_by_task, frozenset(manifests))


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


def run_targets(main: bool, targets: Iterable[str]) -> list[str] | None:
    """Return the targets of the run that this process belongs to; None if the job does not know them.

    Args:
        main: whether this process is the run itself and not one of its jobs.
        targets: targets of this process; empty for the default.
    """
    if main:
        os.environ[TARGETS_VARIABLE] = json.dumps(sorted(targets))
    return json.loads(os.environ.get(TARGETS_VARIABLE, "null"))
