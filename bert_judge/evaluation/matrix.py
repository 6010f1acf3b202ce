"""Answers as a grid: a line per question and attempt, a column per model, so that models are compared by whole matrices.

Columns of a frame of verdicts; parentheses keep them apart from any judge's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy import sparse

MODEL = "(model)"
TASK = "(task)"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Where each row of a frame of verdicts stands.

    Attributes:
        models: names of the columns, sorted.
        line: shape (rows,), number of the row's question and attempt.
        column: shape (rows,), number of its model.
        question: shape (lines,), number of each line's question.
    """

    models: list[str]
    line: NDArray[np.intp]
    column: NDArray[np.intp]
    question: NDArray[np.intp]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Grid:
        """Of a frame with (model), sample_id and attempt; sample_id tells tasks apart too."""
        column, models = pd.factorize(frame[MODEL], sort=True)
        question, _ = pd.factorize(frame["sample_id"])
        attempts = int(frame["attempt"].max()) + 1 if len(frame) else 1
        line, distinct = pd.factorize(question * attempts + frame["attempt"].to_numpy(dtype=np.intp))
        return cls([str(model) for model in models], line, column, np.asarray(distinct, dtype=np.intp) // attempts)

    @property
    def questions(self) -> int:
        return int(self.question.max()) + 1 if len(self.question) else 0

    @cached_property
    def _collect(self) -> sparse.csr_array:
        # Only here: score tables take no more of this file than names.
        from scipy import sparse

        lines = np.arange(len(self.question))
        return sparse.csr_array((np.ones(len(lines)), (self.question, lines)), shape=(self.questions, len(lines)))

    def spread(self, values: ArrayLike) -> Floats:
        """One number per row as shape (lines, models); 0 where a model has no such answer."""
        made = np.zeros((len(self.question), len(self.models)))
        made[self.line, self.column] = np.asarray(values, dtype=float)
        return made

    def per_question(self, lines: Floats) -> Floats:
        """Sums over the lines of each question: shape (lines, k) → (questions, k)."""
        return np.asarray(self._collect @ lines)
