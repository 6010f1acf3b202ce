"""What a classifier of an aspect says, and how labels become its classes.

A head's spec is `config.ProbeAspect` as plain values: `head`, `range` and `positive_from`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neural_network import MLPClassifier
from sklearn.utils.class_weight import compute_sample_weight

from bert_judge.runtime.errors import InputError

FLOOR = 1e-3


def classes_of(name: str, values: np.ndarray, spec: Mapping[str, Any]) -> np.ndarray:
    """Labels as whole classes: 0 and 1 for a binary head, else the nearest value of the range, a half upwards.

    Args:
        name: of the aspect, for the message.
        values: on the aspect's own scale, shape (n,).

    Raises:
        InputError: a value is out of range.
    """
    low, high = spec["range"]
    if ((values < low) | (values > high)).any():
        odd = values[(values < low) | (values > high)][0]
        raise InputError(f"aspects.{name}.range: a label is {odd:g}, outside {low} to {high}; mend the range or the labels")
    if spec["head"] == "binary":
        return (values >= cut(spec)).astype(int)
    return np.floor(values + 0.5).astype(int)


def cut(spec: Mapping[str, Any]) -> float:
    """The lowest value that a binary head counts as good."""
    low, high = spec["range"]
    return (low + high) / 2 if spec["positive_from"] is None else spec["positive_from"]


def expected(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The mean class under the probabilities, (n, k) of classes (k,): of a binary head the probability of good. Shape (n,)."""
    return probabilities @ classes.astype(float)


def decided(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The likeliest class, shape (n,)."""
    return classes[probabilities.argmax(axis=1)]


def share(value: float, spec: Mapping[str, Any]) -> float:
    """A value as a share from 0 (worst) to 1 (best)."""
    if spec["head"] == "binary":
        return float(min(1.0, max(0.0, value)))
    low, high = spec["range"]
    return float(min(1.0, max(0.0, (value - low) / (high - low))))


class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """Classes in an order: one binary classifier per border says how likely the class is above it (Frank and Hall, 2001).

    Args:
        base: a binary classifier with `predict_proba` or `decision_function`.
    """

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: np.ndarray, y: np.ndarray) -> OrdinalClassifier:
        self.classes_ = np.unique(y)
        self.borders_ = [clone(self.base).fit(X, (y > border).astype(int)) for border in self.classes_[:-1]]
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Shape (n, classes). Where a higher border is crossed likelier than a lower one, the lower one's probability counts."""
        if not self.borders_:
            return np.ones((len(X), 1))
        above = np.minimum.accumulate(np.stack([_above(border, X) for border in self.borders_], axis=1), axis=1)
        edges = np.concatenate([np.ones((len(above), 1)), above, np.zeros((len(above), 1))], axis=1)
        # No class is impossible: of one certain error, a calibration by likelihood would learn that nothing is ever sure.
        floored = edges[:, :-1] - edges[:, 1:] + FLOOR
        return floored / floored.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return decided(self.predict_proba(X), self.classes_)


def _above(border: Any, rows: np.ndarray) -> np.ndarray:
    if hasattr(border, "predict_proba"):
        return border.predict_proba(rows)[:, 1]
    return expit(border.decision_function(rows))


class BalancedMLP(MLPClassifier):
    """A multi-layer perceptron in whose loss all classes count alike; scikit-learn's has no `class_weight`."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> BalancedMLP:
        return super().fit(X, y, sample_weight=compute_sample_weight("balanced", y))
