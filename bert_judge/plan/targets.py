"""Which tables a run needs, told from its targets: what a job for several tables at once (`batches.py`) may do, and no more."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable

from bert_judge.plan import ATTACKS, Plan
from bert_judge.tables import selections

# Jobs are processes of their own, perhaps on other machines: they inherit what the run was asked for.
VARIABLE = "BERT_JUDGE_TARGETS"
PAIRS = re.compile(r"results/(?:pairs/(?P<set>[^/]+)/.+|labels/(?P<judge>[^/]+)/pairs/(?P<compared>[^/]+)\.parquet)")
ANSWERS = re.compile(r"results/(?:candidates|scores|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
FILTERED = re.compile(r"results/filtered/(?P<filter>[^/]+)/[^/]+\.parquet")
SCHOOLED = re.compile(r"results/students/(?P<model>[^/]+)/.+")
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
        judges = [found["judge"]] if found["judge"] else plan.config.scorers if "/scores/" in target else []
        judged = _judged(plan, judges, [(found["model"], found["task"])])
        learnt = _schooled(plan, [found["model"]])
        return (judged or {(None, found["model"], found["task"])}) | _taught(plan, judges) | learnt
    if found := FILTERED.fullmatch(target):
        return _chosen_from(plan, [found["filter"]])
    if found := SCHOOLED.fullmatch(target):
        return _schooled(plan, [found["model"]])
    if target == "attacks" or target.startswith("results/attacks/"):
        return _attacks(plan)
    everything = _judged(plan, plan.config.scorers, plan.score_tables) | _taught(plan, plan.config.scorers) | _attacks(plan)
    everything |= _training(plan, plan.config.datasets) | _paired(plan, plan.config.pairs)
    everything |= _chosen_from(plan, plan.config.filters)
    return {(None, model, task) for _, model, task in everything} if target == "candidates" else everything


def _judged(plan: Plan, judges: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Needs:
    """The tables of these judges on these answers; for a judge of other judges, theirs too."""
    found: Needs = set()
    for judge in judges:
        found |= {(judge, *pair) for pair in pairs}
        if judge in plan.config.judges:
            found |= {table for pair in pairs for table in plan.source_tables(judge, *pair)}
    return found


def _attacks(plan: Plan) -> Needs:
    """What tells how often judges are fooled."""
    if plan.config.attacks is None:
        return set()
    judges = plan.config.attacks.judges
    return _judged(plan, judges, [(ATTACKS, task) for task in plan.attack_tasks]) | _taught(plan, judges)


def _taught(plan: Plan, judges: Iterable[str]) -> Needs:
    """What trains these judges, or fits them."""
    found: Needs = set()
    for judge in judges:
        if (block := plan.config.judges.get(judge)) is not None:
            needed = plan.kind_of(judge).depends_on(block)
            found |= _training(plan, needed.datasets) | _paired(plan, needed.pair_sets) | _taught(plan, needed.judges)
            found |= set(plan.kind_of(judge).fit_tables(plan, judge))
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
            found |= _judged(plan, [entry.teacher], plan.dataset_tables(name)) | _taught(plan, entry.teachers)
            found |= _judged(plan, entry.teachers[1:], plan.weakly_labelled_tables(name))
    return found


def _schooled(plan: Plan, models: Iterable[str]) -> Needs:
    """What those of the models learn from that are students."""
    return _chosen_from(plan, {plan.students[model].filter for model in models if model in plan.students})


def _chosen_from(plan: Plan, filters: Iterable[str]) -> Needs:
    """What these filters choose from, and what trains their judges."""
    found: Needs = set()
    for name in filters:
        if name in plan.config.filters:
            pairs, judge = plan.chosen_from(name), plan.filter_judge(name)
            found |= _judged(plan, [judge], pairs) | _taught(plan, [judge]) if judge else {(None, *pair) for pair in pairs}
    return found
