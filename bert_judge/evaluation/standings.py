"""The standings stage: from score tables to accuracies, comparisons of models and students, and agreement of judges."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import agreement, model_comparison
from bert_judge.evaluation.cost import cost_table
from bert_judge.evaluation.score_tables import (
    MODEL,
    TOTAL_LENGTH,
    group_by_answer_features,
    group_by_family,
    group_by_task,
    load_verdicts,
)
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import intervals
from bert_judge.statistics.accuracy_range import AccuracyRange, accuracy_range
from bert_judge.statistics.metrics import attempt_metrics

# The tables that `build_standings` writes, each as {name}.parquet; the standings are the last.
SCHEMAS = {
    schema.name: schema
    for schema in (
        *(tables.MODEL_PAIRS, tables.AGREEMENT, tables.COMPARISONS, tables.JUDGE_PAIRS, tables.RANK_SHIFTS),
        *(tables.RELIABILITY, tables.THRESHOLDS, tables.COST, tables.STANDINGS),
    )
}
log = logging.getLogger(__name__)


def build_standings(spec: Mapping[str, Any], scores: Sequence[Path], folder: Path) -> None:
    """Write the tables of `SCHEMAS`; those that compare with gold are empty without a gold judge.

    Texts are only read for their lengths: memory holds a score and a verdict per answer and judge. `spec`: `Plan.standings_spec`.
    """
    judges, gold = spec["judges"], spec["gold"]
    frame = load_verdicts(scores, judges, answer_features=True)
    trained = [judge for judge in judges if judge in spec["trained"] and judge != gold]
    families = dict(group_by_family(frame, spec["families"]))
    frames = {
        "model_pairs": model_comparison.model_pairs_table(dict(group_by_task(frame)), judges),
        "judge_pairs": agreement.judge_pairs_table(families, judges, gold),
        "rank_shifts": model_comparison.rank_shifts_table(families, judges, gold or next(iter(trained), None)),
        "standings": _standings_table(frame, judges),
    }
    if gold is not None:
        frames |= _gold_tables(frame, spec, trained)
    if "cost" in spec:
        frames["cost"] = cost_table(spec["cost"], folder, float(frame[TOTAL_LENGTH].sum()))
    for name, schema in SCHEMAS.items():
        revisions = tables.merge_revisions(scores) if name == "standings" else None
        tables.write(frames.get(name, tables.empty(schema)), folder / f"{name}.parquet", schema, spec, revisions=revisions)
    log.info("%d answers in %d score tables, %d judges", len(frame), len(scores), len(judges))


def _gold_tables(frame: pd.DataFrame, spec: Mapping[str, Any], trained: Sequence[str]) -> dict[str, pd.DataFrame]:
    gold = spec["gold"]
    judges = [judge for judge in spec["judges"] if judge != gold]
    decided = frame[model_comparison.is_valid(frame, gold)]
    families = dict(group_by_family(decided, spec["families"]))
    features = dict(group_by_answer_features(decided, spec.get("styles", {})))
    return {
        "agreement": agreement.agreement_table({**families, **features}, judges, gold),
        "comparisons": agreement.judge_comparison_table(families, judges, trained, gold),
        "reliability": agreement.reliability_table(decided, judges, gold),
        "thresholds": agreement.thresholds_table(decided, judges, gold),
    }


def _standings_table(frame: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """Build the rows in reading order: all tasks, then each; judges as configured; best model first."""
    rows = []
    for (level, task), answers in group_by_task(frame):
        by_model = [(str(model), model_answers) for model, model_answers in answers.groupby(MODEL, sort=True)]
        ranks = model_comparison.rank_models(answers, judges)
        for judge in judges:
            group = {"level": level, "task": task, "judge": judge}
            judge_rows = [
                {
                    **group,
                    "model": model,
                    **estimate_accuracy(model_answers, judge),
                    **_attempt_columns(model_answers, judge),
                    **ranks[judge, model],
                }
                for model, model_answers in by_model
            ]
            rows += sorted(judge_rows, key=lambda row: (-row["accuracy"], row["model"]))
    table = pd.DataFrame(rows, columns=tables.STANDINGS.names)
    return table.astype(dict.fromkeys(["rank", "rank_low", "rank_high"], "Int64"))


def _attempt_columns(answers: pd.DataFrame, judge: str) -> dict[str, float]:
    correct, attempted = model_comparison.is_correct(answers, judge), model_comparison.is_attempted(answers, judge)
    return attempt_metrics(correct, attempted)._asdict()


def estimate_range(answers: pd.DataFrame, judge: str) -> AccuracyRange:
    """Compute the range that uncertain verdicts leave of an accuracy."""
    correct, uncertain = model_comparison.is_correct(answers, judge), model_comparison.is_uncertain(answers, judge)
    return accuracy_range(correct, uncertain, model_comparison.has_claim(answers, judge))


def estimate_accuracy(answers: pd.DataFrame, judge: str) -> dict[str, Any]:
    """Compute the numbers of one standings row.

    Invalid verdicts count as incorrect in `accuracy`, as in other evaluation harnesses, so it is also the lower bound of what the
    accuracy would be had the judge decided every answer; `accuracy_upper` is the upper bound.
    """
    valid, correct = model_comparison.is_valid(answers, judge), model_comparison.is_correct(answers, judge)
    certainty = estimate_range(answers, judge)
    ends = (certainty.low, certainty.high) if certainty.is_wide else (math.nan, math.nan)
    return {
        "n": len(answers),
        "questions": answers["sample_id"].nunique(),
        **intervals.proportion(correct, answers["sample_id"]).columns("accuracy"),
        "invalid": float(np.mean(~valid)) if len(answers) else math.nan,
        "accuracy_decided": float(np.mean(correct[valid])) if valid.any() else math.nan,
        "accuracy_upper": float(np.mean(correct | ~valid)) if len(answers) else math.nan,
        **{"certain": certainty.certain, "range_low": ends[0], "range_high": ends[1]},
    }


# --- students ---

STANDINGS_COLUMNS = ["model", "level", "task", "judge", "n", "accuracy", "low", "high"]


def build_students(spec: Mapping[str, Any], *, standings: Path, pairs: Path, metrics: Mapping[str, Path], output: Path) -> None:
    """Write the table of students, from tables of the standings stage and the metrics.json of each student.

    `spec`: `Plan.students_spec`.
    """
    accuracies, model_pairs = tables.read(standings, tables.STANDINGS), tables.read(pairs, tables.MODEL_PAIRS)
    rows: list[dict[Any, Any]] = []
    for name, student in spec["students"].items():
        control = _find_control(spec["students"], name)
        columns = {**student, "answers": _training_answers(metrics[name]), "control": control}
        for row in accuracies.loc[accuracies["model"] == name, STANDINGS_COLUMNS].to_dict("records"):
            rows.append({**columns, **row, **_difference(model_pairs, row, control)})
    for recipe, base in spec["bases"].items():
        base_rows = accuracies.loc[accuracies["model"] == base, STANDINGS_COLUMNS].to_dict("records")
        rows += [{"recipe": recipe, "keep": 0.0, "answers": 0, **row} for row in base_rows]
    table = pd.DataFrame(rows, columns=tables.STUDENTS.names).astype({"significant": "boolean"})
    tables.write(table, output, tables.STUDENTS, spec)


def _training_answers(metrics: Path) -> int:
    try:
        return int(json.loads(metrics.read_text("utf-8"))["answers"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{metrics}: not the metrics of a student; delete its folder and run again") from error


def _find_control(students: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """Return the student of the same recipe and size with randomly chosen answers; None if there is none or it is `name`."""
    twin = {**students[name], "chooser": "random"}
    controls = (
        student for student, settings in students.items() if all(settings[k] == twin[k] for k in ("chooser", "recipe", "keep"))
    )
    return None if students[name]["chooser"] == "random" else next(controls, None)


def _difference(pairs: pd.DataFrame, row: Mapping[Any, Any], control: str | None) -> dict[str, Any]:
    group = pairs[(pairs["level"] == row["level"]) & (pairs["task"] == row["task"]) & (pairs["judge"] == row["judge"])]
    for model, opponent, sign in ((row["model"], control, 1), (control, row["model"], -1)):
        matches = group[(group["model"] == model) & (group["other"] == opponent)]
        if len(matches):
            pair = matches.iloc[0]
            low, high = sorted((sign * pair["low"], sign * pair["high"]))
            difference = {"difference": sign * pair["difference"], "difference_low": low, "difference_high": high}
            return {**difference, "p_holm": pair["p_holm"], "significant": pair["significant"]}
    return {}
