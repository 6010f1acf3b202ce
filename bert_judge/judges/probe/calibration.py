"""A classifier whose probabilities can be believed, whatever its classes are called and however rare one of them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

Splits = Sequence[tuple[np.ndarray, np.ndarray]]
# Below what any number of training rows here can tell from 0.
LEAST = 1e-9


class Calibrated(ClassifierMixin, BaseEstimator):
    """A classifier with probabilities that were calibrated on rows to which it was not fitted.

    By a sigmoid per class, because the classifiers take all classes for equally common: what a temperature alone leaves of that is
    wrong for each of them. (scikit-learn 1.9 also fits a temperature to the wrong classes where they do not count from 0.)

    Args:
        base: a classifier with `predict_proba` or `decision_function`.
    """

    def __init__(self, base: Any) -> None:
        self.base = base

    def fit(self, X: np.ndarray, y: np.ndarray, splits: Splits) -> Calibrated:
        """Fit the base in each fold for the calibration, and then to all rows.

        Args:
            splits: (training rows, other rows) of each fold; every row is once among the others.
        """
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        model = self.base if count == 2 else AllClasses(self.base, count)
        self.model_ = CalibratedClassifierCV(model, method="sigmoid", cv=splits, ensemble=False).fit(X, codes)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Shape (n, classes)."""
        return self.model_.predict_proba(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The base's own class of each row, shape (n,), to which all classes count alike.

        The likeliest class by calibrated probabilities would be the commonest one of every row, where little can be told.
        """
        [fitted] = self.model_.calibrated_classifiers_
        return self.classes_[fitted.estimator.predict(X)]


class AllClasses(ClassifierMixin, BaseEstimator):
    """A classifier that has a finite logit for every class, also for one that its training rows lacked: the lowest of the others.

    scikit-learn gives a class that a fold lacks the most negative number there is, and calibrates all others beside that.

    Args:
        base: a classifier with `predict_proba` or `decision_function`.
        count: the classes are 0 to `count` - 1.
    """

    def __init__(self, base: Any, count: int) -> None:
        self.base = base
        self.count = count

    def fit(self, X: np.ndarray, y: np.ndarray) -> AllClasses:
        self.base_ = clone(self.base).fit(X, y)
        self.classes_ = np.arange(self.count)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Shape (n, count)."""
        known = _logits(self.base_, X)
        found = np.repeat(known.min(axis=1, keepdims=True), self.count, axis=1)
        found[:, self.base_.classes_] = known
        return found

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The base's own class, shape (n,)."""
        return self.base_.predict(X)


def _logits(model: Any, rows: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.log(np.maximum(model.predict_proba(rows), LEAST))
    found = model.decision_function(rows)
    return np.column_stack([-found, found]) if found.ndim == 1 else found
