"""Classifiers of an aspect: classes of its labels, an ordinal classifier, and calibration of probabilities.

A head's spec is `config.ProbeAspect` as plain values: `head`, `range` and `positive_from`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

from bert_judge.runtime.errors import InputError

# (training rows, held-out rows) of each fold.
Splits = Sequence[tuple[np.ndarray, np.ndarray]]
# Smallest probability of a class of an ordinal classifier, before normalisation.
MIN_ORDINAL_PROBABILITY = 1e-3
# Keeps logarithms finite.
EPSILON = 1e-9


def to_classes(aspect: str, values: np.ndarray, spec: Mapping[str, Any]) -> np.ndarray:
    """Convert labels on the aspect's scale, shape (n,), to integer classes: 0 and 1 for a binary head, else rounded half up.

    Raises:
        InputError: a value is out of range.
    """
    low, high = spec["range"]
    if ((values < low) | (values > high)).any():
        value = values[(values < low) | (values > high)][0]
        raise InputError(f"aspects.{aspect}.range: a label is {value:g}, outside {low} to {high}; fix the range or the labels")
    if spec["head"] == "binary":
        positive_from = (low + high) / 2 if spec["positive_from"] is None else spec["positive_from"]
        return (values >= positive_from).astype(int)
    return np.floor(values + 0.5).astype(int)


def normalize(value: float, spec: Mapping[str, Any]) -> float:
    """Map a value on the aspect's scale to [0, 1]."""
    low, high = (0, 1) if spec["head"] == "binary" else spec["range"]
    return float(np.clip((value - low) / (high - low), 0.0, 1.0))


class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """One binary classifier per class boundary estimates the probability of a class above it (Frank and Hall, 2001)."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: np.ndarray, y: np.ndarray) -> OrdinalClassifier:
        self.classes_ = np.unique(y)
        self.boundaries_ = [clone(self.base).fit(X, (y > boundary).astype(int)) for boundary in self.classes_[:-1]]
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Shape (n, classes). A boundary that is likelier to be exceeded than a lower one gets the probability of the lower one."""
        if not self.boundaries_:
            return np.ones((len(X), 1))
        above = expit(np.stack([boundary.decision_function(X) for boundary in self.boundaries_], axis=1))
        above = np.minimum.accumulate(above, axis=1)
        edges = np.concatenate([np.ones((len(above), 1)), above, np.zeros((len(above), 1))], axis=1)
        # After one confident error, calibration by likelihood would distrust every confident prediction.
        probabilities = edges[:, :-1] - edges[:, 1:] + MIN_ORDINAL_PROBABILITY
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class CalibratedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with probabilities calibrated on held-out folds, by a sigmoid per class.

    The base classifiers weight all classes equally; a single temperature would not restore the base rates. (scikit-learn 1.9 also
    fits a temperature to the wrong classes if these do not count from 0.)
    """

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: np.ndarray, y: np.ndarray, splits: Splits) -> CalibratedClassifier:
        """Calibrate on out-of-fold predictions, then fit the base to all rows; each row is held out in one split."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        model = self.base if count == 2 else AllClassesClassifier(self.base, count)
        self.model_ = CalibratedClassifierCV(model, method="sigmoid", cv=splits, ensemble=False).fit(X, codes)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the base's class of each row, shape (n,), which weights all classes equally.

        The class with the highest calibrated probability would nearly always be the most common one if the features are weak.
        """
        [fitted] = self.model_.calibrated_classifiers_
        return self.classes_[fitted.estimator.predict(X)]


class AllClassesClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with a finite logit for each of `count` classes; one without training rows gets the lowest of the others.

    scikit-learn gives such a class the most negative number, which spoils the calibration of the others.
    """

    def __init__(self, base: Any, count: int) -> None:
        self.base = base
        self.count = count

    def fit(self, X: np.ndarray, y: np.ndarray) -> AllClassesClassifier:
        self.base_ = clone(self.base).fit(X, y)
        self.classes_ = np.arange(self.count)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Shape (n, count)."""
        base_logits = _logits(self.base_, X)
        logits = np.repeat(base_logits.min(axis=1, keepdims=True), self.count, axis=1)
        logits[:, self.base_.classes_] = base_logits
        return logits

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.base_.predict(X)


def _logits(model: Any, rows: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(rows), EPSILON))
    logits = model.decision_function(rows)
    return np.column_stack([-logits, logits]) if logits.ndim == 1 else logits
