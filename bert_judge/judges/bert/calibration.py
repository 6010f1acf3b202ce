"""How far scores can be read as probabilities, and the one number that mends most of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import expit

# Bounds of the temperature: outside, a fit on few rows only says that they were all right.
COLDEST, HOTTEST = 0.1, 10.0


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """The temperature T that makes sigmoid(logit / T) the likeliest explanation of the labels.

    Args:
        logits: differences of the two logits, shape (n,).
        labels: 0/1 or soft labels, shape (n,).

    Returns:
        T in [0.1, 10]; 1.0 for no rows. Source: Guo et al. 2017, section 4.2.
    """
    z, y = np.asarray(logits, float), np.asarray(labels, float)
    if not len(z):
        return 1.0

    def loss(log_temperature: float) -> float:
        scaled = z / np.exp(log_temperature)
        return float(np.mean(np.logaddexp(0, scaled) - y * scaled))

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded").x))


def scores(logits: ArrayLike, temperature: float = 1.0) -> np.ndarray:
    """sigmoid(logit / T), shape as given."""
    return expit(np.asarray(logits, float) / temperature)
