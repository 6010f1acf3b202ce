"""How far judges' scores are probabilities, and what other thresholds would give, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import statistics
from bert_judge.runtime.metrics import THRESHOLDS, bin_index, reliability_bins, threshold_curve


def reliability_table(frame: pd.DataFrame, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """One row per judge and tenth of the scale that holds scores, in the schema `tables.RELIABILITY`.

    Args:
        frame: rows with a valid gold verdict.
        judges: those to compare with gold; one without scores gets no row.
    """
    rows: list[dict[str, Any]] = []
    for judge, scores, right, questions in _scored(frame, judges, gold):
        code = bin_index(scores)
        count, mean, _ = reliability_bins(right, scores)
        for bin_ in np.flatnonzero(count):
            inside = code == bin_
            share = statistics.proportion(right[inside], questions[inside])
            row = {"judge": judge, "bin": bin_, "n": int(count[bin_]), "score": mean[bin_]}
            rows.append({**row, "fraction_correct": share.value, "low": share.low, "high": share.high})
    return pd.DataFrame(rows, columns=tables.RELIABILITY.names)


def thresholds_table(frame: pd.DataFrame, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """One row per judge and threshold, in the schema `tables.THRESHOLDS`. Arguments as for `reliability_table`."""
    parts = []
    for judge, scores, right, _ in _scored(frame, judges, gold):
        curve = threshold_curve(right, scores)
        parts.append(pd.DataFrame({"judge": judge, "threshold": THRESHOLDS.round(3), "n": len(scores), **curve}))
    return pd.concat(parts, ignore_index=True) if parts else tables.empty(tables.THRESHOLDS)


def _scored(frame: pd.DataFrame, judges: Sequence[str], gold: str) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """(judge, scores, whether gold says correct, questions) over the rows that have a score."""
    truth = (frame[f"{gold}_verdict"] == "correct").to_numpy(dtype=bool)
    questions = pd.factorize(frame["sample_id"])[0]
    for judge in judges:
        score = frame[judge].to_numpy(dtype=float)
        known = ~np.isnan(score)
        if known.any():
            yield judge, score[known], truth[known], questions[known]
