"""Which tables a run needs, told from its targets: what a job that works for several tables at once may do, and no more."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge import selections, shards, tables
from bert_judge.config import BertJudge, CascadeJudge, PairwiseJudge
from bert_judge.plan import ATTACKS, Plan

# Jobs are processes of their own, perhaps on other machines: they inherit what the run was asked for.
VARIABLE = "BERT_JUDGE_TARGETS"
PAIRS = re.compile(r"results/(?:pairs/(?P<set>[^/]+)/.+|labels/(?P<judge>[^/]+)/pairs/(?P<compared>[^/]+)\.parquet)")
ANSWERS = re.compile(r"results/(?:candidates|scores|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
TRAINED = re.compile(r"results/judges/(?P<judge>[^/]+)/.+")
DATASET = re.compile(r"results/datasets/(?P<dataset>[^/]+)/.+")
NO_ANSWERS = re.compile(r"prepare|results/(?:prepared|tasks)/.+")
TRAINING = ("datasets", "judges")

Pairs = set[tuple[str, str]]
# (judge, model, task) of a table of verdicts, which stands for the answers too; without a judge, of answers alone.
Needs = set[tuple[str | None, str, str]]


def of_run(main: bool, targets: Iterable[str]) -> list[str] | None:
    """The targets of the run that this process belongs to; None when a job cannot tell.

    Args:
        main: this is the run itself and no job of it.
        targets: of this process; empty: the default.
    """
    if main:
        os.environ[VARIABLE] = json.dumps(sorted(targets))
    return json.loads(os.environ.get(VARIABLE, "null"))


def answers_for(plan: Plan, targets: Iterable[str] | None) -> Pairs:
    """(model, task) of every table of answers that the targets need, those that train their judges among them."""
    return {(model, task) for _, model, task in _needs(plan, targets) if selections.parse(model) is None}


def verdicts_for(plan: Plan, targets: Iterable[str] | None) -> set[tuple[str, str, str]]:
    """(judge, model, task) of every table of verdicts that the targets need, those that train their judges among them."""
    return {(judge, model, task) for judge, model, task in _needs(plan, targets) if judge is not None}


class Batch(NamedTuple):
    """Tables of one model whose answers one job generates, or on which one job gives a judge's verdicts.

    Attributes:
        parts: task → the specs of its answers and of its questions, and of the verdicts.
        inputs: what the questions are made of: `source {task}` and `manifest {task}` → path; for verdicts, `answers {task}`.
    """

    parts: Mapping[str, Mapping[str, Any]]
    inputs: Mapping[str, str]

    @property
    def name(self) -> str:
        """16 hex digits that depend on the parts only."""
        return shards.content_key(tables.canonical(self.parts))[:16]


class Batches(NamedTuple):
    """All batches of a model by name, for each task the name of its own, and the names of those that left a note."""

    by_name: Mapping[str, Batch]
    of_task: Mapping[str, str]
    done: frozenset[str]


def batches(plan: Plan, model: str, pairs: Pairs, folder: str | Path) -> Batches:
    """The batches that earlier runs answered, and one of all that is needed now and in none of them.

    Args:
        pairs: (model, task) of the tables that this run needs.
        folder: where each answered batch left its note, `{name}.json`.
    """
    current = {task: _part(plan, model, task) for task in plan.tasks if plan.answers(model, task)}
    needed = {task for task in current if (model, task) in pairs}
    return _batches(current, needed, folder, partial(_inputs, plan))


def verdict_batches(plan: Plan, judge: str, model: str, needed: Set[tuple[str, str, str]], folder: str | Path) -> Batches:
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


def _batches(
    current: Mapping[str, Mapping[str, Any]], needed: Set[str], folder: str | Path, inputs: Callable[[list[str]], dict[str, str]]
) -> Batches:
    """A table stays in its batch while it means the same; so a new table asks for a batch of its own and makes no other stale.

    Args:
        current: task → what its table means now.
        needed: the tasks of the tables that this run needs.
        inputs: of a batch of these tasks.
    """
    written = {path.stem: found for path in sorted(Path(folder).glob("*.json")) if (found := _read(path))}
    of_task = {task: name for name, batch in written.items() for task, part in batch.parts.items() if current.get(task) == part}
    new = [task for task in current if task in needed and task not in of_task]
    groups = [[task] for task in current] + ([new] if new else [])
    made = [Batch({task: current[task] for task in sorted(group)}, inputs(sorted(group))) for group in groups]
    # The last one wins: the batch of all that is needed.
    of_task = {task: batch.name for batch in made for task in batch.parts} | of_task
    return Batches({batch.name: batch for batch in made} | written, of_task, frozenset(written))


def note(batch: Batch, path: str | Path) -> None:
    """Write down what was done."""
    with tables.atomic(path) as temporary:
        temporary.write_text(json.dumps(batch._asdict(), indent=1, ensure_ascii=False), "utf-8")


def _read(path: Path) -> Batch | None:
    """The batch of a note; None when the file is no note."""
    try:
        return Batch(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError):
        return None


def _answered(plan: Plan, model: str) -> list[str]:
    """The tasks that a model has answers to, or what stands in their place for a selection."""
    match selections.parse(model):
        case selections.HeldOut():
            return [selections.VALIDATION]
        case selections.Left(model=base):
            return [task for task in plan.tasks if plan.answers(base, task)]
        case None:
            return [task for task in plan.tasks if plan.answers(model, task)]


def _part(plan: Plan, model: str, task: str) -> dict[str, Any]:
    match selections.parse(model):
        case selections.HeldOut(dataset=dataset):
            return {"held_out": plan.dataset_spec(dataset)}
        case selections.Left(model=base):
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


def _needs(plan: Plan, targets: Iterable[str] | None) -> Needs:
    if targets is None:
        return set()
    targets = list(targets) or ["all"]
    return set().union(*(_of_target(plan, target) for target in targets))


def _of_target(plan: Plan, target: str) -> Needs:
    if NO_ANSWERS.fullmatch(target):
        return set()
    if target in TRAINING:
        return _training(plan, plan.config.datasets)
    if found := DATASET.fullmatch(target):
        return _training(plan, [found["dataset"]])
    if found := TRAINED.fullmatch(target):
        return _taught(plan, [found["judge"]])
    if target in ("pairs", "preferences"):
        return _paired(plan, plan.config.pairs) | _taught(plan, plan.pair_judges)
    if found := PAIRS.fullmatch(target):
        return _paired(plan, [found["set"] or found["compared"]]) | _taught(plan, [found["judge"]] if found["judge"] else [])
    if found := ANSWERS.fullmatch(target):
        judges = [found["judge"]] if found["judge"] else plan.config.score_with if "/scores/" in target else []
        judged = _judged(plan, judges, [(found["model"], found["task"])])
        return (judged or {(None, found["model"], found["task"])}) | _taught(plan, judges)
    if target == "attacks" or target.startswith("results/attacks/"):
        return _attacks(plan)
    everything = _judged(plan, plan.config.score_with, plan.scored) | _taught(plan, plan.config.score_with) | _attacks(plan)
    everything |= _training(plan, plan.config.datasets) | _paired(plan, plan.config.pairs)
    return {(None, model, task) for _, model, task in everything} if target == "candidates" else everything


def _judged(plan: Plan, judges: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Needs:
    """The tables of these judges on these answers; for a cascade, those of its judges too."""
    found: Needs = set()
    for judge in judges:
        found |= {(judge, *pair) for pair in pairs}
        if isinstance(plan.config.judges.get(judge), CascadeJudge):
            found |= {(member, part, task) for model, task in pairs for member, part in plan.members(judge, model, task)}
    return found


def _attacks(plan: Plan) -> Needs:
    """What tells how often judges are fooled."""
    if plan.config.attacks is None:
        return set()
    judges = plan.config.attacks.judges
    return _judged(plan, judges, [(ATTACKS, task) for task in plan.attacked]) | _taught(plan, judges)


def _taught(plan: Plan, judges: Iterable[str]) -> Needs:
    """What trains these judges, or fits them."""
    found: Needs = set()
    for judge in judges:
        match plan.config.judges.get(judge):
            case BertJudge(dataset=str(dataset)):
                found |= _training(plan, [dataset])
            case PairwiseJudge(pairs=list(sets)):
                found |= _paired(plan, sets)
            case CascadeJudge() as cascade:
                found |= _training(plan, [cascade.dataset]) | _taught(plan, cascade.judges)
                held_out = selections.HeldOut(cascade.dataset).name
                found |= {(member, held_out, selections.VALIDATION) for member in plan.learners(judge)}
    return found


def _paired(plan: Plan, sets: Iterable[str]) -> Needs:
    """What these sets of pairs are made of, and what labels them."""
    found: Needs = set()
    for name in sets:
        if (entry := plan.config.pairs.get(name)) is not None:
            answers = plan.pair_answers(name)
            found |= {(None, *table) for table in answers}
            if entry.gold:
                found |= _judged(plan, [entry.gold], answers) | _taught(plan, [entry.gold])
    return found


def _training(plan: Plan, datasets: Iterable[str]) -> Needs:
    """What these datasets merge, and what trains their teachers."""
    found: Needs = set()
    for name in datasets:
        if (entry := plan.config.datasets.get(name)) is not None:
            found |= _judged(plan, [entry.teacher], plan.labelled(name)) | _taught(plan, [entry.teacher])
    return found
