"""How far scores can be read as probabilities, and the one number that mends most of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

Counts = NDArray[np.float64]
BINS = 10
THRESHOLDS = np.linspace(0.05, 0.95, 37)
# Bounds of the temperature: outside, a fit on few rows only says that they were all right.
COLDEST, HOTTEST = 0.1, 10.0


def bin_of(scores: ArrayLike) -> NDArray[np.intp]:
    """In which of `BINS` equally wide bins a score in [0, 1] lies; a border belongs to the bin above it, 1 to the last."""
    return np.minimum((np.asarray(scores, float) * BINS).astype(np.intp), BINS - 1)


def reliability(scores: ArrayLike, labels: ArrayLike) -> tuple[Counts, Counts, Counts]:
    """What stands behind a reliability diagram: rows, mean score and share of positives of each bin, NaN in empty ones.

    Args:
        scores: in [0, 1], shape (n,).
        labels: 0/1 or soft labels in [0, 1], shape (n,).
    """
    p, y = np.asarray(scores, float), np.asarray(labels, float)
    code = bin_of(p)
    rows = np.bincount(code, minlength=BINS).astype(float)
    mean, share = (np.divide(np.bincount(code, values, BINS), rows, out=np.full(BINS, np.nan), where=rows > 0) for values in (p, y))
    return rows, mean, share


def threshold_curve(scores: ArrayLike, right: ArrayLike) -> dict[str, Counts]:
    """What each of `THRESHOLDS` would give, were a score of at least the threshold called correct.

    Args:
        scores: in [0, 1], shape (n,), n above 0.
        right: booleans, shape (n,).

    Returns:
        agreement, macro_f1 and called (share that is called correct), each with one number per threshold.
    """
    p, y = np.asarray(scores, float), np.asarray(right, bool)
    hits, alarms = (len(part) - np.searchsorted(np.sort(part), THRESHOLDS) for part in (p[y], p[~y]))
    misses, passed = y.sum() - hits, (~y).sum() - alarms
    # A class that is neither there nor called has an F1 of 0.
    f1 = [2 * good / np.maximum(2 * good + misses + alarms, 1) for good in (hits, passed)]
    n = len(p)
    return {"agreement": (hits + passed) / n, "macro_f1": (f1[0] + f1[1]) / 2, "called": (hits + alarms) / n}


def expected_calibration_error(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Mean distance between the score and the share of positives, over `BINS` equally wide bins weighted by their rows.

    Args:
        probabilities: scores in [0, 1], shape (n,).
        labels: 0/1 or soft labels in [0, 1], shape (n,).

    Returns:
        A number in [0, 1]; NaN for no rows. Source: Naeini et al. 2015; Guo et al. 2017, eq. 3.
    """
    p, y = np.asarray(probabilities, float), np.asarray(labels, float)
    if not len(p):
        return float("nan")
    gaps = np.bincount(bin_of(p), p - y, minlength=BINS)
    return float(np.abs(gaps).sum() / len(p))


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
