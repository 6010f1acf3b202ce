"""Prior shift (label shift) correction of calibrated scores, without labels.

A calibrated score is the probability that an answer is correct at the base rate of the calibration rows, the prior. At another base
rate all scores are off by one constant on the log-odds scale. The base rate is estimated from the scores alone, by maximum
likelihood of a mixture of the scores of correct and incorrect answers (Saerens, Latinne and Decaestecker, 2002, "Adjusting the
outputs of a classifier to new a priori probabilities"). This assumes that the scores of correct answers, and those of incorrect
answers, are distributed as among the calibration rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

# Keeps the log-odds finite.
EPSILON = 1e-6


def estimate_base_rate(scores: ArrayLike, prior: float, prior_strength: float) -> float:
    """Estimate the share of correct answers by maximum likelihood.

    Args:
        scores: calibrated scores in [0, 1], shape (n,).
        prior: base rate at which the scores are calibrated, in (0, 1).
        prior_strength: weight of the prior, as a number of answers; above 0.

    Returns:
        The base rate in (0, 1); the prior if there are no scores.
    """
    score = np.clip(np.asarray(scores, dtype=float), EPSILON, 1 - EPSILON)
    correct, incorrect = score / prior, (1 - score) / (1 - prior)

    def slope(base_rate: float) -> float:
        """Derivative of the log-likelihood, which is concave; the prior makes it infinite at 0 and at 1."""
        evidence = np.sum((correct - incorrect) / (base_rate * correct + (1 - base_rate) * incorrect))
        return float(evidence + prior_strength * (prior / base_rate - (1 - prior) / (1 - base_rate)))

    # The maximum lies within these bounds for any scores.
    bound = min(prior, 1 - prior) * prior_strength / (2 * (prior_strength + len(score)))
    return float(brentq(slope, bound, 1 - bound, xtol=1e-12))


def shift_prior(scores: ArrayLike, prior: float, base_rate: float) -> NDArray[np.float64]:
    """Shift calibrated scores from one base rate to another.

    Args:
        scores: in [0, 1], shape (n,).
        prior: base rate at which the scores are calibrated, in (0, 1).
        base_rate: base rate of the scored answers, in (0, 1).

    Returns:
        Scores in (0, 1) in the same order, shape (n,).
    """
    score = np.clip(np.asarray(scores, dtype=float), EPSILON, 1 - EPSILON)
    return np.asarray(expit(logit(score) + logit(base_rate) - logit(prior)))
