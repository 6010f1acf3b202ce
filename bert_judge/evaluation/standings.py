"""From score tables to what is read first: accuracy per model, task and judge, who is better than whom, how far judges agree."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import agreement as agreeing
from bert_judge.evaluation import groups, model_pairs, ranks, reliability, run_cost, statistics
from bert_judge.evaluation import scores as score_tables
from bert_judge.evaluation.matrix import MODEL, TASK

# What `build_standings` writes, each as {name}.parquet; the standings are the last.
MADE = {
    schema.name: schema
    for schema in (
        tables.MODEL_PAIRS,
        tables.AGREEMENT,
        tables.COMPARISONS,
        tables.JUDGE_PAIRS,
        tables.RANK_SHIFTS,
        tables.RELIABILITY,
        tables.THRESHOLDS,
        tables.COST,
        tables.STANDINGS,
    )
}
log = logging.getLogger(__name__)


def build_standings(spec: Mapping[str, Any], scores: Sequence[Path], folder: Path) -> None:
    """Write the tables of `MADE`; without gold, those that compare with it have no rows.

    Of the texts only the lengths are read: memory holds a score and a verdict per answer and judge.

    Args:
        spec: `judges`, `gold`, `trained`, `families`, `styles`, `tables`, as `Plan.standings_spec` makes it.
        scores: the score tables of all (model, task) in `tables`, in any order.
        folder: where the tables go.

    Raises:
        InputError: a file is not a score table, or lacks a judge.
    """
    judges, gold = spec["judges"], spec["gold"]
    frame = load_verdicts(scores, judges, traits=True)
    trained = [judge for judge in judges if judge in spec["trained"] and judge != gold]
    families = dict(groups.by_family(frame, spec["families"]))
    made = {
        "model_pairs": model_pairs.model_pairs_table(dict(groups.by_task(frame)), judges),
        "judge_pairs": ranks.judge_pairs_table(families, judges, gold),
        "rank_shifts": ranks.rank_shift_table(families, judges, gold or next(iter(trained), None)),
        **_against_gold(frame, spec, trained),
        "standings": _standings(frame, judges),
    }
    if "cost" in spec:
        made["cost"] = run_cost.cost_table(spec["cost"], folder, float(frame[groups.CHARACTERS].sum()))
    for name, schema in MADE.items():
        made_of = revisions(scores) if name == "standings" else None
        tables.write(made.get(name, tables.empty(schema)), folder / f"{name}.parquet", schema, spec, made_of)
    log.info("%d answers in %d score tables, %d judges", len(frame), len(scores), len(judges))


def _against_gold(frame: pd.DataFrame, spec: Mapping[str, Any], trained: Sequence[str]) -> dict[str, pd.DataFrame]:
    if (gold := spec["gold"]) is None:
        return {}
    others = [judge for judge in spec["judges"] if judge != gold]
    known = frame[frame[f"{gold}_verdict"] != "invalid"]
    families = dict(groups.by_family(known, spec["families"]))
    traits = dict(groups.by_trait(known, spec.get("styles", {})))
    return {
        "agreement": agreeing.agreement_table({**families, **traits}, others, gold),
        "comparisons": agreeing.comparison_table(families, others, trained, gold),
        "reliability": reliability.reliability_table(known, others, gold),
        "thresholds": reliability.thresholds_table(known, others, gold),
    }


def load_verdicts(scores: Sequence[Path], judges: Sequence[str], traits: bool = False) -> pd.DataFrame:
    """All answers of several score tables: `model`, `task`, `sample_id`, `attempt`, then score and verdict of each judge.

    Sorted by task, model, sample_id and attempt, so that nothing depends on the order of the files.

    Args:
        traits: also (status) and (characters) of each answer.
    """
    frames = []
    for path in scores:
        model, task = score_tables.origin(path)
        frame = score_tables.read_verdicts(path, judges)
        for judge in judges:
            frame[f"{judge}_verdict"] = pd.Categorical(frame[f"{judge}_verdict"], categories=tables.VERDICTS)
        if traits:
            frame = frame.assign(**score_tables.read_traits(path))
        frames.append(frame.assign(**{MODEL: model, TASK: task}))
    if not frames:
        columns = [MODEL, TASK, *score_tables.KEY, *(n for j in judges for n in (j, f"{j}_verdict"))]
        return pd.DataFrame(columns=[*columns, *([groups.STATUS, groups.LENGTH, groups.CHARACTERS] if traits else [])])
    return pd.concat(frames, ignore_index=True).sort_values([TASK, MODEL, *score_tables.KEY], ignore_index=True)


def revisions(paths: Sequence[Path]) -> dict[str, str]:
    """Model → revision over several tables."""
    found: dict[str, str] = {}
    for path in paths:
        found |= tables.provenance(path).get("revisions", {})
    return found


def _standings(frame: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """Rows in reading order: all tasks, then each; judges as configured; best model first."""
    rows = []
    for (level, task), part in groups.by_task(frame):
        by_model = [(str(model), answers) for model, answers in part.groupby(MODEL, sort=True)]
        rank_columns = ranks.ranks(part, judges)
        for judge in judges:
            found = [
                {
                    "level": level,
                    "task": task,
                    "model": model,
                    "judge": judge,
                    **accuracy(answers, judge),
                    **rank_columns[judge, model],
                }
                for model, answers in by_model
            ]
            rows += sorted(found, key=_best_first)
    made = pd.DataFrame(rows, columns=tables.STANDINGS.names)
    return made.astype(dict.fromkeys(["rank", "rank_low", "rank_high"], "Int64"))


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
        "accuracy_lower": float(np.mean(right)) if len(answers) else math.nan,
        "accuracy_upper": float(np.mean(right | ~valid)) if len(answers) else math.nan,
    }
