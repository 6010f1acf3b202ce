"""From a difference of two answers to the probabilities of A, tie and B, by Davidson's model of paired comparisons.

    P(A) : P(tie) : P(B)  =  exp(z/2) : nu : exp(-z/2),   z = difference / temperature

Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", 1970. Two
numbers are learnt on held-out pairs: the temperature, and the logarithm of nu, the weight of a tie. The model is symmetric: the
mirrored difference has the mirrored probabilities, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

# Bounds of both logarithms: outside, a fit on few pairs only says that all of them were right, or that none was a tie.
MOST_LOG_TEMPERATURE, MOST_LOG_NU = 2.5, 6.0
# How the learnt numbers are held back on few pairs: a normal prior of this width on the log temperature.
WIDTH = 2.0


class Ties(NamedTuple):
    """What a judge has learnt of its own differences.

    Attributes:
        temperature: divides a difference.
        log_nu: logarithm of the weight of a tie.
    """

    temperature: float = 1.0
    log_nu: float = -MOST_LOG_NU


def probabilities(differences: ArrayLike, ties: Ties) -> np.ndarray:
    """P(A), P(tie) and P(B) of each difference, shape (n, 3)."""
    half = np.asarray(differences, float) / ties.temperature / 2
    largest = np.maximum(np.abs(half), ties.log_nu)
    better, worse, tie = np.exp(half - largest), np.exp(-half - largest), np.exp(ties.log_nu - largest)
    total = better + worse + tie
    return np.stack([better / total, tie / total, worse / total], axis=-1)


def fit(differences: ArrayLike, labels: ArrayLike) -> Ties:
    """The likeliest temperature and weight of a tie.

    Args:
        differences: of A over B, shape (n,).
        labels: 1 (A), 0.5 (tie) or 0 (B), shape (n,).

    Returns:
        The default for no pairs.
    """
    z, y = np.asarray(differences, float), np.asarray(labels, float)
    if not len(z):
        return Ties()
    column = np.where(y > 0.5, 0, np.where(y < 0.5, 2, 1))

    def loss(numbers: np.ndarray) -> float:
        likely = probabilities(z, Ties(float(np.exp(numbers[0])), float(numbers[1])))
        prior = (numbers[0] / WIDTH) ** 2 / 2
        return float(prior - np.log(np.maximum(likely[np.arange(len(z)), column], 1e-12)).sum())

    bounds = [(-MOST_LOG_TEMPERATURE, MOST_LOG_TEMPERATURE), (-MOST_LOG_NU, MOST_LOG_NU)]
    best = minimize(loss, np.array([0.0, -1.0]), method="L-BFGS-B", bounds=bounds).x
    return Ties(float(np.exp(best[0])), float(best[1]))
