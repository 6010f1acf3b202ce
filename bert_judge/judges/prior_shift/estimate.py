"""Scores for answers of which another share is right than among those that a judge was calibrated on.

A calibrated score is the probability of being right where a known share of answers is right, the prior. On answers of another file
the share is another, and all scores are off by one amount on the scale of log-odds. The share can be told from the scores alone: it
is the one that makes them most likely, as a mixture of what right and wrong answers score (Saerens, Latinne and Decaestecker, 2002,
"Adjusting the outputs of a classifier to new a priori probabilities"). This holds where right answers score there as right ones
did, and wrong ones as wrong ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

# Scores of 0 and 1 are no probabilities that anything can move.
EDGE = 1e-6


def share_of_right(scores: ArrayLike, prior: float, caution: float) -> float:
    """The share of right answers that makes the scores most likely.

    Args:
        scores: in [0, 1], shape (n,).
        prior: share of right answers that the scores take for granted, in (0, 1).
        caution: so many answers with that share are counted beside these; above 0.

    Returns:
        in (0, 1); the prior itself without any score.
    """
    score = np.clip(np.asarray(scores, dtype=float), EDGE, 1 - EDGE)
    right, wrong = score / prior, (1 - score) / (1 - prior)

    def slope(share: float) -> float:
        """Of the logarithm of the likelihood, which is concave; caution makes it infinite at 0 and at 1."""
        told = np.sum((right - wrong) / (share * right + (1 - share) * wrong))
        return float(told + caution * (prior / share - (1 - prior) / (1 - share)))

    # With one answer counted there is no share beyond these.
    edge = min(prior, 1 - prior) * caution / (2 * (caution + len(score)))
    return float(brentq(slope, edge, 1 - edge, xtol=1e-12))


def moved(scores: ArrayLike, prior: float, share: float) -> NDArray[np.float64]:
    """Scores as they are where this share of answers is right.

    Args:
        scores: in [0, 1], shape (n,).
        prior: share of right answers that the scores take for granted, in (0, 1).
        share: share of right answers among those that were scored, in (0, 1).

    Returns:
        scores in (0, 1) in the same order, shape (n,).
    """
    score = np.clip(np.asarray(scores, dtype=float), EDGE, 1 - EDGE)
    return np.asarray(expit(logit(score) + logit(share) - logit(prior)))
