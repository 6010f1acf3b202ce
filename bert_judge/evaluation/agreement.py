"""How well judges agree with the gold labels: on rows, on models' accuracies and on their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import statistics
from bert_judge.evaluation.matrix import MODEL
from bert_judge.evaluation.model_pairs import Groups
from bert_judge.runtime.metrics import expected_calibration_error

# The judge that gives every answer the commoner gold verdict: what agreement is worth nothing.
MAJORITY = "(majority class)"


def agreement_table(groups: Groups, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """One row per group and judge, in the schema `tables.AGREEMENT`; the majority class comes last.

    Args:
        groups: (level, group) → rows with a valid gold verdict: (model), sample_id, and score and verdict of the judges.
        judges: those to compare with gold.
        gold: the judge that counts as the truth; its verdicts in `groups` are all valid.
    """
    rows = []
    for (level, group), frame in groups.items():
        truth = _verdicts(frame, gold)
        clusters = pd.factorize(frame["sample_id"])[0]
        common = "correct" if 2 * np.sum(truth == "correct") >= len(truth) else "incorrect"
        verdicts = {judge: _verdicts(frame, judge) for judge in judges}
        verdicts[MAJORITY] = _categorical([common] * len(truth))
        for judge, said in verdicts.items():
            scores = frame[judge].to_numpy(dtype=float) if judge in judges else None
            row: dict[str, Any] = {"level": level, "group": group, "judge": judge}
            row |= _on_rows(said, truth, clusters)
            row |= _on_scores(scores, truth)
            row |= _on_models(frame[MODEL].to_numpy(), said, truth)
            rows.append(row)
    frame = pd.DataFrame(rows, columns=tables.AGREEMENT.names)
    return frame.astype({"rank_shift": "Int64"})


def comparison_table(groups: Groups, judges: Sequence[str], trained: Sequence[str], gold: str) -> pd.DataFrame:
    """Every trained judge against every other one, per group, in the schema `tables.COMPARISONS`."""
    rows = []
    for (level, group), frame in groups.items():
        truth = _verdicts(frame, gold)
        agrees = {judge: np.asarray(_verdicts(frame, judge) == truth) for judge in judges}
        clusters = pd.factorize(frame["sample_id"])[0]
        for judge in trained:
            for other in judges:
                if other == judge:
                    continue
                interval = statistics.paired_difference(agrees[judge], agrees[other], clusters)
                rows.append(
                    {
                        "level": level,
                        "group": group,
                        "judge": judge,
                        "other": other,
                        "n": len(frame),
                        "difference": interval.value,
                        "low": interval.low,
                        "high": interval.high,
                        "p_value": statistics.mcnemar_p(agrees[judge], agrees[other]),
                    }
                )
    return pd.DataFrame(rows, columns=tables.COMPARISONS.names)


def _verdicts(frame: pd.DataFrame, judge: str) -> pd.Categorical:
    return _categorical(frame[f"{judge}_verdict"])


def _categorical(verdicts: Any) -> pd.Categorical:
    return pd.Categorical(verdicts, categories=tables.VERDICTS)


def _on_rows(said: pd.Categorical, truth: pd.Categorical, clusters: np.ndarray) -> dict[str, Any]:
    interval = statistics.proportion(said == truth, clusters)
    return {
        "n": len(truth),
        "questions": len(np.unique(clusters)),
        "agreement": interval.value,
        "low": interval.low,
        "high": interval.high,
        "macro_f1": statistics.macro_f1(said, truth),
        "kappa": statistics.kappa(said, truth),
        "scott_pi": statistics.scott_pi(said, truth),
        "invalid": float(np.mean(said == "invalid")) if len(said) else math.nan,
    }


def _on_scores(scores: np.ndarray | None, truth: pd.Categorical) -> dict[str, float]:
    """Measures of the scores, over the rows that have one."""
    if scores is None:
        return dict.fromkeys(("ece", "brier", "auroc"), math.nan)
    known = ~np.isnan(scores)
    score, right = scores[known], (truth == "correct")[known]
    return {
        "ece": expected_calibration_error(right, score),
        "brier": statistics.brier(score, right),
        "auroc": statistics.auroc(score, right),
    }


def _on_models(model: np.ndarray, said: pd.Categorical, truth: pd.Categorical) -> dict[str, Any]:
    """What the judge does to the models' accuracies and to their order, on the rows with a gold verdict."""
    rows = pd.DataFrame({"model": model, "right": said == "correct", "valid": said != "invalid", "gold": truth == "correct"})
    means = rows.groupby("model", sort=True)[["right", "gold"]].mean()
    valid = rows[rows["valid"]].groupby("model")["right"].mean()
    place = means.rank(method="min", ascending=False).astype(int)
    moves = place["gold"] - place["right"]
    # Models are in alphabetical order, so among equal moves the choice is fixed.
    farthest = str(moves.abs().idxmax()) if len(moves) > 1 else None
    return {
        "models": len(means),
        "accuracy_error": float((means["right"] - means["gold"]).abs().mean()),
        "accuracy_error_valid": float((valid - means["gold"][valid.index]).abs().mean()),
        "rank_correlation": statistics.rank_correlation(means["right"], means["gold"]),
        "most_shifted_model": farthest,
        "rank_shift": int(moves[farthest]) if farthest else None,
    }
