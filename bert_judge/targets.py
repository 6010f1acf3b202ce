"""Which answers a run needs, told from its targets: what a job that answers for several tables at once may answer, and no more."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bert_judge.config import BertJudge
from bert_judge.plan import Plan

# Jobs are processes of their own, perhaps on other machines: they inherit what the run was asked for.
VARIABLE = "BERT_JUDGE_TARGETS"
ANSWERS = re.compile(r"results/(?:candidates|scores|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
TRAINED = re.compile(r"results/judges/(?P<judge>[^/]+)/.+")
DATASET = re.compile(r"results/datasets/(?P<dataset>[^/]+)/.+")
NO_ANSWERS = re.compile(r"prepare|results/(?:prepared|tasks)/.+")
TRAINING = ("datasets", "judges")

Pairs = set[tuple[str, str]]


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
    if targets is None:
        return set()
    targets = list(targets) or ["all"]
    return set().union(*(_of_target(plan, target) for target in targets))


def to_fill(plan: Plan, model: str, pairs: Pairs, filled: str | Path) -> dict[str, Any]:
    """Task → spec of the tables for which a model's store is filled: those filled before, and those that are needed now.

    So a target that needs no more than what is there asks for nothing new. What was filled for other settings is forgotten.

    Args:
        filled: the file in which the earlier fill wrote what this function returned.
    """
    before, needed = read_filled(filled), {task for m, task in pairs if m == model}
    specs = {task: plan.candidates_spec(model, task) for task in sorted({*before, *needed}) if task in plan.tasks}
    return {task: spec for task, spec in specs.items() if task in needed or before[task] == spec}


def read_filled(path: str | Path) -> dict[str, Any]:
    """What an earlier fill wrote; nothing when there was none."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_target(plan: Plan, target: str) -> Pairs:
    everything = {(m, t) for m, t in plan.scored} | _training(plan, plan.config.datasets)
    if NO_ANSWERS.fullmatch(target):
        return set()
    if target in TRAINING:
        return _training(plan, plan.config.datasets)
    if found := DATASET.fullmatch(target):
        return _training(plan, [found["dataset"]])
    if found := TRAINED.fullmatch(target):
        return _taught(plan, [found["judge"]])
    if found := ANSWERS.fullmatch(target):
        judges = [found["judge"]] if found["judge"] else plan.config.score_with if "/scores/" in target else []
        return {(found["model"], found["task"])} | _taught(plan, judges)
    return everything


def _taught(plan: Plan, judges: Iterable[str]) -> Pairs:
    """What trains these judges."""
    entries = [plan.config.judges.get(judge) for judge in judges]
    return _training(plan, [entry.dataset for entry in entries if isinstance(entry, BertJudge) and entry.dataset])


def _training(plan: Plan, datasets: Iterable[str]) -> Pairs:
    """What these datasets merge, and what trains their teachers."""
    found: Pairs = set()
    for name in datasets:
        if (entry := plan.config.datasets.get(name)) is not None:
            found |= {(m, t) for m, t in plan.labelled(name)} | _taught(plan, [entry.teacher])
    return found


def unfilled(parts: Mapping[str, Any], tables: Mapping[str, Path], filled: str | Path) -> list[str]:
    """Tasks for which the store is not filled yet: new ones, others' specs, and those whose questions changed since.

    Args:
        parts: task → spec, from `to_fill`.
        tables: task → table of its questions.
        filled: what the earlier fill wrote.
    """
    before, path = read_filled(filled), Path(filled)
    since = path.stat().st_mtime if path.exists() else 0.0
    return [task for task, spec in parts.items() if before.get(task) != spec or tables[task].stat().st_mtime > since]
