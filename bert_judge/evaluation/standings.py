"""From score tables to what is read first: accuracy per model, task and judge, and the judges' agreement with gold."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import agreement as agreeing
from bert_judge.evaluation import scores as score_tables
from bert_judge.evaluation import statistics

log = logging.getLogger(__name__)


def build_standings(spec: Mapping[str, Any], scores: Sequence[Path], standings: Path, agreement: Path, comparisons: Path) -> None:
    """Write the standings, and the judges' agreement with gold; without gold the latter two are tables without rows.

    Texts are never read: memory holds a score and a verdict per answer and judge.

    Args:
        spec: `judges`, `gold`, `trained`, `families`, `tables`, as `Plan.standings_spec` makes it.
        scores: the score tables of all (model, task) in `tables`, in any order.
        standings, agreement, comparisons: where the tables go.

    Raises:
        InputError: a file is not a score table, or lacks a judge.
    """
    judges, gold = spec["judges"], spec["gold"]
    frame = load_verdicts(scores, judges)
    tables.write(_standings(frame, judges), standings, tables.STANDINGS, spec, revisions(scores))
    agreed, compared = tables.empty(tables.AGREEMENT), tables.empty(tables.COMPARISONS)
    if gold is not None:
        groups = dict(_groups(frame[frame[f"{gold}_verdict"] != "invalid"], spec["families"]))
        others = [judge for judge in judges if judge != gold]
        trained = [judge for judge in others if judge in spec["trained"]]
        agreed = agreeing.agreement_table(groups, others, gold)
        compared = agreeing.comparison_table(groups, others, trained, gold)
    tables.write(agreed, agreement, tables.AGREEMENT, spec)
    tables.write(compared, comparisons, tables.COMPARISONS, spec)
    log.info("%d answers in %d score tables, %d judges", len(frame), len(scores), len(judges))


def load_verdicts(scores: Sequence[Path], judges: Sequence[str]) -> pd.DataFrame:
    """All answers of several score tables: `model`, `task`, `sample_id`, `attempt`, then score and verdict of each judge.

    Sorted by task, model, sample_id and attempt, so that nothing depends on the order of the files.
    """
    frames = []
    for path in scores:
        model, task = score_tables.origin(path)
        frame = score_tables.read_verdicts(path, judges)
        for judge in judges:
            frame[f"{judge}_verdict"] = pd.Categorical(frame[f"{judge}_verdict"], categories=tables.VERDICTS)
        frames.append(frame.assign(**{agreeing.MODEL: model, agreeing.TASK: task}))
    if not frames:
        columns = [agreeing.MODEL, agreeing.TASK, *score_tables.KEY, *(n for j in judges for n in (j, f"{j}_verdict"))]
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True).sort_values([agreeing.TASK, agreeing.MODEL, *score_tables.KEY], ignore_index=True)


def revisions(paths: Sequence[Path]) -> dict[str, str]:
    """Model → revision over several tables."""
    found: dict[str, str] = {}
    for path in paths:
        found |= tables.provenance(path).get("revisions", {})
    return found


def _standings(frame: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """Rows in reading order: all tasks, then each; judges as configured; best model first."""
    parts = [("all", "all", frame), *(("task", str(task), part) for task, part in frame.groupby(agreeing.TASK, sort=True))]
    rows = []
    for level, task, part in parts:
        by_model = [(str(model), answers) for model, answers in part.groupby(agreeing.MODEL, sort=True)]
        for judge in judges:
            found = [
                {"level": level, "task": task, "model": model, "judge": judge, **accuracy(answers, judge)}
                for model, answers in by_model
            ]
            rows += sorted(found, key=_best_first)
    return pd.DataFrame(rows, columns=tables.STANDINGS.names)


def _best_first(row: Mapping[str, Any]) -> tuple[bool, float, str]:
    unknown = math.isnan(row["accuracy"])
    return unknown, 0.0 if unknown else -row["accuracy"], row["model"]


def accuracy(answers: pd.DataFrame, judge: str) -> dict[str, Any]:
    """The numbers of one standings row: `n`, `questions`, `accuracy` with its interval, `invalid` and the bounds."""
    verdicts = answers[f"{judge}_verdict"]
    valid, right = (verdicts != "invalid").to_numpy(dtype=bool), (verdicts == "correct").to_numpy(dtype=bool)
    interval = statistics.proportion(right[valid], answers["sample_id"].to_numpy()[valid])
    return {
        "n": len(answers),
        "questions": answers["sample_id"].nunique(),
        "accuracy": interval.value,
        "low": interval.low,
        "high": interval.high,
        "invalid": float(np.mean(~valid)) if len(answers) else math.nan,
        "accuracy_if_wrong": float(np.mean(right)) if len(answers) else math.nan,
        "accuracy_if_right": float(np.mean(right | ~valid)) if len(answers) else math.nan,
    }


def _groups(frame: pd.DataFrame, families: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """(level, name) → rows: everything, each family, each task."""
    yield ("all", "all"), frame
    for family, part in frame.groupby(frame[agreeing.TASK].map(families), sort=True):
        yield ("family", str(family)), part
    for task, part in frame.groupby(agreeing.TASK, sort=True):
        yield ("task", str(task)), part
