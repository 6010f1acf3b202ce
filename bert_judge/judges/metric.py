"""A judge under the names that scikit-learn's classifiers and the metrics of the library `evaluate` have for the same things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

References = Sequence[str | Sequence[str]]


class _Scores(Protocol):
    threshold: float

    def predict(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> np.ndarray: ...


class AsMetric:
    """Adds `predict_proba` and `compute` to a judge that has `predict` and `threshold`."""

    def predict_proba(self: _Scores, questions: Sequence[str], references: References, candidates: Sequence[str]) -> np.ndarray:
        """Probabilities of wrong and right, shape (n, 2), each row summing to 1."""
        right = self.predict(questions, references, candidates)
        return np.column_stack([1 - right, right])

    def compute(
        self: _Scores, predictions: Sequence[str], references: References, questions: Sequence[str] | None = None
    ) -> dict[str, float | list[float]]:
        """Judge predictions as a metric does.

        Args:
            predictions: what the model said.
            references: per prediction one right answer, or several any of which is right.
            questions: what was asked; empty when left out, which a judge trained with questions takes for less evidence.

        Returns:
            `accuracy`, the share of predictions called correct; `mean_score`; and `scores`, one per prediction. Of no predictions,
            the first two are not a number.
        """
        asked = questions if questions is not None else [""] * len(predictions)
        scores = self.predict(asked, references, predictions)
        if not len(scores):
            return {"accuracy": float("nan"), "mean_score": float("nan"), "scores": []}
        accuracy = float((scores >= self.threshold).mean())
        return {"accuracy": accuracy, "mean_score": float(scores.mean()), "scores": scores.tolist()}
