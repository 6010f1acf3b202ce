"""One bootstrap over questions for all that is told of pairs.

Drawing questions with replacement is weighting each with how often it was drawn, so a measure that is a function of sums over
questions is, for all resamples at once, that function of one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
RESAMPLES = 1000


@dataclass(frozen=True)
class Draws:
    """The questions of some rows, and how often each was drawn.

    Attributes:
        code: number of each row's question, shape (rows,).
        weights: shape (1 + resamples, questions); line 0 is what was observed: every question once.
    """

    code: NDArray[np.intp]
    weights: NDArray[np.float32]

    @property
    def questions(self) -> int:
        return self.weights.shape[1]

    def totals(self, values: ArrayLike, cell: NDArray[np.intp] | None = None, cells: int = 1) -> Floats:
        """Sums in each line, of values per row.

        Args:
            values: shape (rows,), or (rows, k) where nothing is said of cells.
            cell: the cell that each row belongs to, shape (rows,).
            cells: how many there are.

        Returns:
            Shape (1 + resamples,), (1 + resamples, k), or with cells (1 + resamples, cells).
        """
        given = np.asarray(values, dtype=float)
        if cell is None:
            found = np.zeros((self.questions, *given.shape[1:]))
            np.add.at(found, self.code, given)
        else:
            found = np.zeros((self.questions, cells))
            np.add.at(found, (self.code, cell), given)
        return np.asarray(np.tensordot(self.weights, found, axes=1))


def over(questions: ArrayLike, seed: int = 0, resamples: int = RESAMPLES) -> Draws:
    """Draw questions.

    Args:
        questions: the question of each row, shape (rows,).
        seed: same seed, same draws.
    """
    code, distinct = pd.factorize(np.asarray(questions), sort=True)
    groups = len(distinct)
    once = np.ones((1, groups))
    if not groups:
        return Draws(code, once.astype(np.float32))
    drawn = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1 / groups), size=resamples)
    weights = np.vstack([once, drawn])
    return Draws(code, weights.astype(np.float32))
