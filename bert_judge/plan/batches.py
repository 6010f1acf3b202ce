"""Group the tables of one model into batches that one job produces, so that an expensive model is loaded once.

Such a job writes a manifest. A light job then writes each table, so every table stays a target of its own. A batch of labels may
cover only some rows of each table (a shard), so that several jobs share large tables. The targets of the run decide which tables a
batch contains.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.plan import ATTACKS, Plan
from bert_judge.runtime.resume import Batch, read_manifests
from bert_judge.tables import selections

Pairs = Set[tuple[str, str]]
# Name of the only shard of a table that one job covers.
SINGLE_SHARD = "1-of-1"
# Jobs are separate processes, possibly on other machines; they inherit the targets of the run.
TARGETS_VARIABLE = "BERT_JUDGE_TARGETS"
# (judge, model, task) of a label table, which implies the answer table; judge is None for an answer table alone.
TableKeys = set[tuple[str | None, str, str]]


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
    return _plan_batches(current, needed, folder, partial(_question_inputs, plan), batch_all=True)


def plan_label_batches(
    plan: Plan,
    judge: str,
    model: str,
    needed: Set[tuple[str, str, str]],
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
    dataset = getattr(plan.config.judges[judge], "dataset", None)
    training = {"training": plan.judge_spec(judge), "dataset": plan.dataset_spec(dataset)} if dataset else {}
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


def _question_inputs(plan: Plan, names: Iterable[str]) -> dict[str, str]:
    inputs: dict[str, str] = {}
    for task in names:
        if (source := plan.source_file(task)) is not None:
            inputs[f"source {task}"] = str(source)
        if (asset := f"task-{task}") in plan.assets:
            inputs[f"manifest {task}"] = f"results/prepared/{asset}.json"
    return inputs


def run_targets(main: bool, targets: Iterable[str]) -> list[str] | None:
    """Return the targets of the run that this process belongs to; None if the job does not know them.

    Args:
        main: whether this process is the run itself and not one of its jobs.
        targets: targets of this process; empty for the default.
    """
    if main:
        os.environ[TARGETS_VARIABLE] = json.dumps(sorted(targets))
    return json.loads(os.environ.get(TARGETS_VARIABLE, "null"))


def required_answers(plan: Plan, targets: Iterable[str] | None) -> Pairs:
    """Return (model, task) of every answer table that the targets require, including those that train their judges."""
    return {(model, task) for _, model, task in _required_tables(plan, targets) if selections.parse(model) is None}


def required_labels(plan: Plan, targets: Iterable[str] | None) -> set[tuple[str, str, str]]:
    """Return (judge, model, task) of every label table that the targets require, including those that train their judges."""
    return {(judge, model, task) for judge, model, task in _required_tables(plan, targets) if judge is not None}


def _required_tables(plan: Plan, targets: Iterable[str] | None) -> TableKeys:
    if targets is None:
        return set()
    targets = list(targets) or ["all"]
    return set().union(*(_tables_for_target(plan, target) for target in targets))


def _tables_for_target(plan: Plan, target: str) -> TableKeys:
    match target.removesuffix(".parquet").split("/"):
        case ["prepare"] | ["results", "prepared" | "tasks", *_]:
            return set()
        case ["datasets" | "judges"]:
            return _dataset_tables(plan, plan.config.datasets)
        case ["results", "datasets", dataset, _, *_]:
            return _dataset_tables(plan, [dataset])
        case ["results", "judges", judge, _, *_]:
            return _judge_tables(plan, [judge])
        case ["pairs" | "preferences"]:
            return _pair_tables(plan, plan.config.pairs) | _judge_tables(plan, plan.pair_judges)
        case ["results", "pairs", pair_set, _, *_]:
            return _pair_tables(plan, [pair_set])
        case ["results", "labels", judge, "pairs", pair_set]:
            return _pair_tables(plan, [pair_set]) | _judge_tables(plan, [judge])
        case ["results", "candidates", model, task]:
            return {(None, model, task)} | _student_tables(plan, [model])
        case ["results", "labels", judge, model, task]:
            return _label_tables(plan, [judge], [(model, task)]) | _judge_tables(plan, [judge]) | _student_tables(plan, [model])
        case ["results", "scores", model, task]:
            judges = plan.config.scorers
            return _label_tables(plan, judges, [(model, task)]) | _judge_tables(plan, judges) | _student_tables(plan, [model])
        case ["results", "filtered", name, _]:
            return _filter_tables(plan, [name])
        case ["results", "students", model, _, *_]:
            return _student_tables(plan, [model])
        case ["attacks"] | ["results", "attacks", *_]:
            return _attack_tables(plan)
    scorers = plan.config.scorers
    everything = _label_tables(plan, scorers, plan.score_tables) | _judge_tables(plan, scorers) | _attack_tables(plan)
    everything |= _dataset_tables(plan, plan.config.datasets) | _pair_tables(plan, plan.config.pairs)
    everything |= _filter_tables(plan, plan.config.filters)
    return {(None, model, task) for _, model, task in everything} if target == "candidates" else everything


def _label_tables(plan: Plan, judges: Iterable[str], pairs: Iterable[tuple[str, str]]) -> TableKeys:
    """Return the label tables of these judges on these answers, including those of member judges."""
    tables: TableKeys = set()
    for judge in judges:
        tables |= {(judge, *pair) for pair in pairs}
        if judge in plan.config.judges:
            tables |= {table for pair in pairs for table in plan.source_tables(judge, *pair)}
    return tables


def _attack_tables(plan: Plan) -> TableKeys:
    if plan.config.attacks is None:
        return set()
    judges = plan.config.attacks.judges
    return _label_tables(plan, judges, [(ATTACKS, task) for task in plan.attack_tasks]) | _judge_tables(plan, judges)


def _judge_tables(plan: Plan, judges: Iterable[str]) -> TableKeys:
    """Return the tables that train or fit these judges."""
    tables: TableKeys = set()
    for judge in judges:
        if (block := plan.config.judges.get(judge)) is not None:
            dependencies = plan.kind_of(judge).depends_on(block)
            tables |= _dataset_tables(plan, dependencies.datasets) | _pair_tables(plan, dependencies.pair_sets)
            tables |= _judge_tables(plan, dependencies.judges) | set(plan.kind_of(judge).fit_tables(plan, judge))
    return tables


def _pair_tables(plan: Plan, sets: Iterable[str]) -> TableKeys:
    """Return the answer tables of these pair sets and their gold labels."""
    tables: TableKeys = set()
    for name in sets:
        if (entry := plan.config.pairs.get(name)) is not None:
            answers = plan.pair_answers(name)
            tables |= {(None, *table) for table in answers}
            if entry.gold:
                tables |= _label_tables(plan, [entry.gold], answers) | _judge_tables(plan, [entry.gold])
    return tables


def _dataset_tables(plan: Plan, datasets: Iterable[str]) -> TableKeys:
    """Return the tables that these datasets merge and that train their teachers."""
    tables: TableKeys = set()
    for name in datasets:
        if (entry := plan.config.datasets.get(name)) is not None:
            tables |= _label_tables(plan, [entry.teacher], plan.dataset_tables(name)) | _judge_tables(plan, entry.teachers)
            tables |= _label_tables(plan, entry.teachers[1:], plan.weakly_labelled_tables(name))
    return tables


def _student_tables(plan: Plan, models: Iterable[str]) -> TableKeys:
    return _filter_tables(plan, {plan.students[model].filter for model in models if model in plan.students})


def _filter_tables(plan: Plan, filters: Iterable[str]) -> TableKeys:
    """Return the tables that these filters select from and that train their judges."""
    tables: TableKeys = set()
    for name in filters:
        if name in plan.config.filters:
            pairs, judge = plan.filter_tables(name), plan.filter_judge(name)
            if judge:
                tables |= _label_tables(plan, [judge], pairs) | _judge_tables(plan, [judge])
            else:
                tables |= {(None, *pair) for pair in pairs}
    return tables
