"""Probabilities of A, tie and B from a difference of two answers, by Davidson's model of paired comparisons.

    P(A) : P(tie) : P(B)  =  exp(z/2) : nu : exp(-z/2),   z = difference / temperature

Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", 1970. The
temperature and log nu, the weight of a tie, are fitted on held-out pairs. The model is exactly symmetric: the negated difference
has the swapped probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

# Bounds of both logarithms: beyond them, a fit on few pairs only reflects that all were correct, or that none was a tie.
MAX_LOG_TEMPERATURE, MAX_LOG_NU = 2.5, 6.0
# Standard deviation of the normal prior on the log temperature, for few pairs.
PRIOR_WIDTH = 2.0


class DavidsonTieModel(NamedTuple):
    """Fitted parameters.

    Attributes:
        temperature: divides a difference.
        log_nu: logarithm of the weight of a tie.
    """

    temperature: float = 1.0
    log_nu: float = -MAX_LOG_NU

    def probabilities(self, differences: ArrayLike) -> np.ndarray:
        """Compute P(A), P(tie) and P(B) of each difference, shape (n, 3)."""
        half = np.asarray(differences, float) / self.temperature / 2
        largest = np.maximum(np.abs(half), self.log_nu)
        better, worse, tie = np.exp(half - largest), np.exp(-half - largest), np.exp(self.log_nu - largest)
        total = better + worse + tie
        return np.stack([better / total, tie / total, worse / total], axis=-1)


def fit(differences: ArrayLike, labels: ArrayLike) -> DavidsonTieModel:
    """Fit temperature and weight of a tie by maximum likelihood.

    Args:
        differences: of A over B, shape (n,).
        labels: 1 (A), 0.5 (tie) or 0 (B), shape (n,).

    Returns:
        The default parameters for no pairs.
    """
    z, y = np.asarray(differences, float), np.asarray(labels, float)
    if not len(z):
        return DavidsonTieModel()
    column = np.where(y > 0.5, 0, np.where(y < 0.5, 2, 1))

    def loss(parameters: np.ndarray) -> float:
        probabilities = DavidsonTieModel(float(np.exp(parameters[0])), float(parameters[1])).probabilities(z)
        prior = (parameters[0] / PRIOR_WIDTH) ** 2 / 2
        return float(prior - np.log(np.maximum(probabilities[np.arange(len(z)), column], 1e-12)).sum())

    bounds = [(-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE), (-MAX_LOG_NU, MAX_LOG_NU)]
    best = minimize(loss, np.array([0.0, -1.0]), method="L-BFGS-B", bounds=bounds).x
    return DavidsonTieModel(float(np.exp(best[0])), float(best[1]))
