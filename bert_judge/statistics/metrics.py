"""Metrics of classes, calibration and attempted answers: the one implementation that judges and the evaluation share.

The order of arguments is scikit-learn's: truth first, then predictions or scores. scikit-learn is imported on first use.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
BINS = 10
THRESHOLDS = np.linspace(0.05, 0.95, 37)


def accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Compute the share of predictions that equal the truth, shape (n,); NaN for no rows."""
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred))) if np.size(y_true) else math.nan


def macro_f1(
    y_true: ArrayLike, y_pred: ArrayLike, labels: Sequence[object] | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the mean of the F1 of the classes, 0 for an undefined one; NaN for no rows.

    Args:
        y_true, y_pred: classes, shape (n,).
        labels: classes to average over; by default those that occur.
    """
    if not np.size(y_true):
        return math.nan
    classes, confusion = _confusion(y_true, y_pred, sample_weight)
    sizes = confusion.sum(axis=0) + confusion.sum(axis=1)
    f1 = 2 * np.diagonal(confusion) / np.where(sizes > 0, sizes, 1)
    f1_of = dict(zip(classes.tolist(), f1.tolist(), strict=True))
    return float(np.mean(f1 if labels is None else [f1_of.get(label, 0.0) for label in labels]))


def cohen_kappa(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute Cohen's kappa of two lists of classes, shape (n,); NaN if only one class occurs."""
    classes, confusion = _confusion(y_true, y_pred, sample_weight)
    if len(classes) < 2:
        return math.nan
    total = confusion.sum()
    chance = float(confusion.sum(axis=0) @ confusion.sum(axis=1)) / total**2
    return float((np.trace(confusion) / total - chance) / (1 - chance))


def _confusion(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> tuple[NDArray[Any], Floats]:
    """Return the classes that occur, sorted, and the weight of the rows of each pair, shape (true classes, predicted classes)."""
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    classes, codes = np.unique(np.concatenate([truth, predicted]), return_inverse=True)
    confusion = np.zeros((len(classes), len(classes)))
    np.add.at(confusion, (codes[: len(truth)], codes[len(truth) :]), 1.0 if sample_weight is None else np.asarray(sample_weight))
    return classes, confusion


def auroc(y_true: ArrayLike, scores: ArrayLike) -> float:
    """Compute the area under the ROC curve of booleans and scores, shape (n,); NaN if only one class occurs."""
    truth = np.asarray(y_true, bool)
    positives = int(truth.sum())
    if positives in (0, len(truth)):
        return math.nan
    _, inverse, counts = np.unique(np.asarray(scores, float), return_inverse=True, return_counts=True)
    # Mann and Whitney's statistic; equal scores share the mean of their ranks.
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * (len(truth) - positives)))


def expected_calibration_error(y_true: ArrayLike, scores: ArrayLike) -> float:
    """Compute the mean absolute gap between score and share of positives, over `BINS` bins of equal width weighted by their rows.

    Args:
        y_true: 0/1 or soft labels in [0, 1], shape (n,).
        scores: in [0, 1], shape (n,).

    Returns:
        A number in [0, 1]; NaN for no rows. Source: Naeini et al. 2015; Guo et al. 2017, eq. 3.
    """
    y, p = np.asarray(y_true, float), np.asarray(scores, float)
    if not len(p):
        return math.nan
    gaps = np.bincount(bin_index(p), p - y, minlength=BINS)
    return float(np.abs(gaps).sum() / len(p))


def classification_metrics(y_true: ArrayLike, scores: ArrayLike, threshold: float = 0.5) -> dict[str, float]:
    """Compute the agreement of scores with binary or soft labels.

    Args:
        y_true: 0/1 or soft labels, shape (n,); positive from 0.5 on.
        scores: in [0, 1], shape (n,).
        threshold: lowest score of a positive prediction.

    Returns:
        n, base_rate, accuracy, macro_f1, ece, and, if both classes occur, kappa, auroc and balanced_accuracy, the mean of the
        shares of positives and of negatives that are predicted as such.
    """
    y, p = np.asarray(y_true, float), np.asarray(scores, float)
    positive, predicted = y >= 0.5, p >= threshold
    metrics = {
        "n": float(len(y)),
        "base_rate": float(positive.mean()),
        "accuracy": accuracy(positive, predicted),
        "macro_f1": macro_f1(positive, predicted),
        "ece": expected_calibration_error(y, p),
    }
    if len(np.unique(positive)) == 2:
        balanced = (float(predicted[positive].mean()) + float((~predicted[~positive]).mean())) / 2
        metrics |= {"kappa": cohen_kappa(positive, predicted), "auroc": auroc(positive, p), "balanced_accuracy": balanced}
    return metrics


def bin_index(scores: ArrayLike) -> NDArray[np.intp]:
    """Return the index of the bin, of `BINS` equal ones, of scores in [0, 1]; an edge belongs to the upper bin, 1 to the last."""
    return np.minimum((np.asarray(scores, float) * BINS).astype(np.intp), BINS - 1)


def reliability_bins(y_true: ArrayLike, scores: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Compute rows, mean score and share of positives per bin, each of shape (BINS,), NaN in empty bins.

    Args:
        y_true: 0/1 or soft labels in [0, 1], shape (n,).
        scores: in [0, 1], shape (n,).
    """
    y, p = np.asarray(y_true, float), np.asarray(scores, float)
    index = bin_index(p)
    rows = np.bincount(index, minlength=BINS).astype(float)
    mean_score, positive_rate = (
        np.divide(np.bincount(index, values, BINS), rows, out=np.full(BINS, np.nan), where=rows > 0) for values in (p, y)
    )
    return rows, mean_score, positive_rate


def threshold_curve(y_true: ArrayLike, scores: ArrayLike) -> dict[str, Floats]:
    """Compute agreement, macro_f1 and predicted_positive_rate at each of `THRESHOLDS`.

    Args:
        y_true: booleans, shape (n,), n > 0.
        scores: in [0, 1], shape (n,).
    """
    y, p = np.asarray(y_true, bool), np.asarray(scores, float)
    true_positives, false_positives = (len(scores) - np.searchsorted(np.sort(scores), THRESHOLDS) for scores in (p[y], p[~y]))
    false_negatives, true_negatives = y.sum() - true_positives, (~y).sum() - false_positives
    # A class that neither occurs nor is predicted has F1 0.
    f1 = [2 * hits / np.maximum(2 * hits + false_negatives + false_positives, 1) for hits in (true_positives, true_negatives)]
    return {
        "agreement": (true_positives + true_negatives) / len(p),
        "macro_f1": (f1[0] + f1[1]) / 2,
        "predicted_positive_rate": (true_positives + false_positives) / len(p),
    }


# --- attempted answers ---


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
