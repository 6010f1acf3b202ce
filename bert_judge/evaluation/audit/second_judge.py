"""Accuracies corrected with the verdicts of a second judge, which saw all or some of the answers that the first is uncertain about
and a random sample of the others.

The estimator is that of an audit (`ppi.prediction_powered`), with the second judge's verdicts in the place of a person's labels and
two strata, the uncertain and the certain answers. So the interval is about the accuracy that the second judge would find if it saw
every answer. The truth differs from that by at most the share of answers on which the second judge errs. Its verdicts do not tell
this share, so an interval about the truth needs a bound of it from elsewhere.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from bert_judge.evaluation.audit import ppi
from bert_judge.statistics.intervals import Interval


def correct_accuracy(rows: pd.DataFrame, error_rate: float = 0.0) -> Interval:
    """Estimate the accuracy by the second judge's verdicts; all NaN if a group of answers has fewer than two of them.

    Args:
        error_rate: largest share of all answers on which the second judge errs, in whichever direction; above 0, the interval is
            about the true accuracy.
        rows: all answers: `question`, `model`, `certain`, the first judge's `score` (NaN for none) and `second`, the second judge's
            verdict (1 correct, 0 incorrect, NaN where it was not asked).
    """
    # A group of a single answer has no variance.
    sizes = rows["certain"].value_counts()
    strata = rows["certain"] if sizes.min() >= ppi.MIN_LABELS else pd.Series(data=True, index=rows.index)
    estimate = ppi.prediction_powered(
        ppi.impute_scores(rows["score"], rows["model"].astype(str)),
        rows["second"].to_numpy(float),
        clusters=rows["question"].to_numpy(),
        strata=strata.to_numpy(bool).astype(int),
    )
    interval = ppi.interval_of(estimate)
    low, high = np.clip([interval.low - error_rate, interval.high + error_rate], 0.0, 1.0)
    return replace(interval, low=float(low), high=float(high))


def agreement(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return for the certain answers that the second judge saw whether both verdicts are equal, and their questions."""
    checked = rows[rows["certain"] & rows["second"].notna()]
    equal = (checked["verdict"] == "correct") == (checked["second"] == 1)
    return equal.to_numpy(bool), checked["question"].to_numpy()
