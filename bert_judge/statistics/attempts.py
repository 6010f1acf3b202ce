"""Accuracy among the answers that attempt their question, and SimpleQA's F-score."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class AttemptMetrics(NamedTuple):
    """Shares from 0 to 1; NaN where there are no rows.

    Attributes:
        attempted: share of the answers that attempt their question.
        accuracy_attempted: share of correct among them.
        f_score: harmonic mean of that and of the share of correct among all answers (Wei et al., SimpleQA, 2024): a model gains
            from abstaining only where it would have been wrong.
    """

    attempted: float
    accuracy_attempted: float
    f_score: float


def attempt_metrics(correct: ArrayLike, attempted: ArrayLike) -> AttemptMetrics:
    """Compute the metrics of booleans, shape (n,); an answer that is not attempted is not correct."""
    hits, attempts = np.asarray(correct, dtype=bool), np.asarray(attempted, dtype=bool)
    if not len(hits):
        return AttemptMetrics(math.nan, math.nan, math.nan)
    num_correct, num_attempted = int(hits.sum()), int(attempts.sum())
    # 2pr / (p + r) with p = correct / attempted and r = correct / all.
    f_score = 2 * num_correct / (num_attempted + len(hits))
    return AttemptMetrics(num_attempted / len(hits), num_correct / num_attempted if num_attempted else math.nan, f_score)
