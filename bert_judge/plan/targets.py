"""Derive the tables that a run requires from its targets, so that batch jobs (`batches.py`) produce only these."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable

from bert_judge.plan import ATTACKS, Plan
from bert_judge.tables import selections

# Jobs are separate processes, possibly on other machines; they inherit the targets of the run.
TARGETS_VARIABLE = "BERT_JUDGE_TARGETS"
PAIRS = re.compile(r"results/(?:pairs/(?P<set>[^/]+)/.+|labels/(?P<judge>[^/]+)/pairs/(?P<compared>[^/]+)\.parquet)")
ANSWERS = re.compile(r"results/(?:candidates|scores|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
FILTERED = re.compile(r"results/filtered/(?P<filter>[^/]+)/[^/]+\.parquet")
STUDENT = re.compile(r"results/students/(?P<model>[^/]+)/.+")
TRAINED = re.compile(r"results/judges/(?P<judge>[^/]+)/.+")
DATASET = re.compile(r"results/datasets/(?P<dataset>[^/]+)/.+")
NO_ANSWERS = re.compile(r"prepare|results/(?:prepared|tasks)/.+")
TRAINING = ("datasets", "judges")

Pairs = set[tuple[str, str]]
# (judge, model, task) of a label table, which implies the answer table; judge is None for an answer table alone.
TableKeys = set[tuple[str | None, str, str]]


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
    if NO_ANSWERS.fullmatch(target):
        return set()
    if target in TRAINING:
        return _dataset_tables(plan, plan.config.datasets)
    if match := DATASET.fullmatch(target):
        return _dataset_tables(plan, [match["dataset"]])
    if match := TRAINED.fullmatch(target):
        return _judge_tables(plan, [match["judge"]])
    if target in ("pairs", "preferences"):
        return _pair_tables(plan, plan.config.pairs) | _judge_tables(plan, plan.pair_judges)
    if match := PAIRS.fullmatch(target):
        judges = [match["judge"]] if match["judge"] else []
        return _pair_tables(plan, [match["set"] or match["compared"]]) | _judge_tables(plan, judges)
    if match := ANSWERS.fullmatch(target):
        judges = [match["judge"]] if match["judge"] else plan.config.scorers if "/scores/" in target else []
        judged = _label_tables(plan, judges, [(match["model"], match["task"])])
        students = _student_tables(plan, [match["model"]])
        return (judged or {(None, match["model"], match["task"])}) | _judge_tables(plan, judges) | students
    if match := FILTERED.fullmatch(target):
        return _filter_tables(plan, [match["filter"]])
    if match := STUDENT.fullmatch(target):
        return _student_tables(plan, [match["model"]])
    if target == "attacks" or target.startswith("results/attacks/"):
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
    """Return the tables behind the attack success rates."""
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
    """Return the tables that train those models that are students."""
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
