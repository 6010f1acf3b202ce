"""What the standings would look like with other questions: one bootstrap for all models and judges together.

Questions are drawn with replacement, and every model and judge sees the same draw. So places and rank correlations keep what
models have in common: a hard question is hard for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_judge.evaluation.statistics import CONFIDENCE, Interval

Floats = NDArray[np.float64]
RESAMPLES = 1000
# Numbers of a block of weights: 80 MB.
BLOCK = 20_000_000


def resampled(sums: Sequence[tuple[Floats, Floats]], seed: int = 0, resamples: int = RESAMPLES) -> list[Floats]:
    """Shares as observed and in each resample.

    Args:
        sums: pairs of (successes, rows) per question and model, each of shape (questions, models); the same questions in all.

    Returns:
        For each pair shape (1 + resamples, models): line 0 is what was observed; NaN where a model has no row.
    """
    questions = len(sums[0][0])
    random = np.random.default_rng(seed)
    blocks: list[list[Floats]] = [[_shares(a, b, np.ones((1, questions)))] for a, b in sums]
    left = resamples if questions else 0
    while left:
        size = min(left, max(1, BLOCK // questions))
        # As 32 bits: a count of draws is small, and half the memory is twice the speed.
        weights = random.multinomial(questions, np.full(questions, 1 / questions), size=size).astype(np.float32)
        for found, (a, b) in zip(blocks, sums, strict=True):
            found.append(_shares(a, b, weights))
        left -= size
    return [np.concatenate(found) for found in blocks]


def _shares(part: Floats, whole: Floats, weights: NDArray[np.floating]) -> Floats:
    above, below = (np.asarray(weights @ sums.astype(weights.dtype), dtype=float) for sums in (part, whole))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def ranks(shares: Floats) -> Floats:
    """Place of each model in each line: 1 is best, equal ones share the better place; NaN without a share. Shape as given."""
    known = np.where(np.isnan(shares), -np.inf, shares)
    place = 1.0 + (known[:, None, :] > known[:, :, None]).sum(axis=2)
    return np.where(np.isnan(shares), np.nan, place)


def span(values: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95% percentile interval of each column, as values that were seen; line 0 is what was observed, and lies within.

    Shape (1 + resamples, k) → two of shape (k,); NaN where the observed value is, or where no resample has one.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    known = ~np.isnan(values[0]) & ~np.isnan(values[1:]).all(axis=0)
    if len(values) > 1 and known.any():
        ends = np.nanquantile(values[1:, known], [tail, 1 - tail], axis=0, method="inverted_cdf")
        low[known], high[known] = np.minimum(ends[0], values[0, known]), np.maximum(ends[1], values[0, known])
    return low, high


def rank_correlations(first: Floats, second: Floats) -> Interval:
    """Kendall's tau-b of two judges' standings with its interval over the resamples, both of shape (1 + resamples, models).

    Of models without a share under either judge nothing is said. NaN where one judge puts all in one place.
    """
    shared = ~np.isnan(first[0]) & ~np.isnan(second[0])
    a, b = first[:, shared], second[:, shared]
    one, two = np.triu_indices(a.shape[1], 1)
    x, y = np.sign(a[:, one] - a[:, two]), np.sign(b[:, one] - b[:, two])
    # A model without a drawn question stands neither above nor below.
    x, y = np.nan_to_num(x), np.nan_to_num(y)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    tau = np.divide((x * y).sum(axis=1), scale, out=np.full(len(scale), np.nan), where=scale > 0)
    low, high = span(tau[:, None])
    return Interval(float(tau[0]), float(low[0]), float(high[0]))
