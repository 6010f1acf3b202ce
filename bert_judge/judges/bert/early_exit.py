"""Early exit: skip the encoder where its logit could not change the verdict (Teerapittayanon et al., 2016).

The stacker (`stacker.py`) combines the encoder's logit with that of the trees. The range of the encoder's logit given the trees'
is estimated on the rows that the stacker is fitted on; where both ends of the range give the same verdict, the trees decide.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# The tree logit is divided into bins of at least MIN_ROWS rows, at most MAX_BINS of them.
MIN_ROWS, MAX_BINS = 100, 20
# Share of rows below the lower bound, and above the upper one.
TAIL = 0.01


@dataclass(frozen=True)
class LogitBounds:
    """Range of the encoder's logit by bin of the trees' logit: mean of the trees' in ascending order; low, mean and high of the
    encoder's."""

    trees: list[float]
    low: list[float]
    mean: list[float]
    high: list[float]

    def __post_init__(self) -> None:
        values = np.array(list(asdict(self).values()), float)
        if values.ndim != 2 or not self.trees or not np.isfinite(values).all() or (np.diff(values[0]) < 0).any():
            raise ValueError("logit_bounds: needs trees, ascending, low, mean and high with equally many numbers each")

    def interpolate(self, tree_logits: Floats) -> tuple[Floats, Floats, Floats]:
        """Return low, mean and high for rows with these tree logits, each of shape (n,)."""
        low, mean, high = (np.interp(tree_logits, self.trees, values) for values in (self.low, self.mean, self.high))
        return low, mean, high


def fit_logit_bounds(encoder_logits: ArrayLike, tree_logits: ArrayLike) -> LogitBounds | None:
    """Estimate the bounds on rows that neither model was trained on, shape (n,); None for fewer than `MIN_ROWS` rows."""
    encoder, trees = np.asarray(encoder_logits, float), np.asarray(tree_logits, float)
    bins = min(MAX_BINS, len(encoder) // MIN_ROWS)
    if not bins:
        return None
    positions = np.array_split(np.argsort(trees, kind="stable"), bins)
    low, high = np.array([np.quantile(encoder[rows], (TAIL, 1 - TAIL)) for rows in positions]).T
    centers, mean = ([values[rows].mean() for rows in positions] for values in (trees, encoder))
    return LogitBounds(*([round(float(value), 4) for value in values] for values in (centers, low, mean, high)))
