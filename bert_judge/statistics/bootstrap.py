"""Bootstrap over questions: 95% percentile intervals of any statistic that is a function of sums over questions.

Answers to one question are not independent, so whole questions are resampled (cluster bootstrap). Drawing questions with
replacement gives each question a weight, the number of times it was drawn; the sums in all resamples are then one matrix product.
Every array of resampled values has shape (1 + resamples, …): line 0 is the observed value. Equal seeds and numbers of questions
give equal draws, so statistics of several models, judges or metrics are resampled jointly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
RESAMPLES = 1000
# Size of a block of weights: 80 MB as 32-bit floats.
MAX_WEIGHTS = 20_000_000


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds of its 95% interval; all NaN where nothing was observed."""

    value: float
    low: float
    high: float

    def columns(self, name: str, prefix: str = "") -> dict[str, float]:
        """Return the value as `name`, and the bounds as `low` and `high` after the prefix."""
        return {name: self.value, f"{prefix}low": self.low, f"{prefix}high": self.high}


UNKNOWN = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class QuestionBootstrap:
    """Resampling of rows by question.

    Attributes:
        codes: index of the question of each row, shape (rows,).
        questions: number of questions that are drawn from.
    """

    codes: NDArray[np.intp]
    questions: int
    seed: int = 0
    resamples: int = RESAMPLES

    @classmethod
    def over(cls, questions: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> QuestionBootstrap:
        """Draw from the distinct values of `questions`, the question of each row, shape (rows,)."""
        import pandas as pd

        codes, distinct = pd.factorize(np.asarray(questions), sort=True)
        return cls(codes, len(distinct), seed, resamples)

    def select(self, rows: NDArray[np.bool_] | slice) -> QuestionBootstrap:
        """Return the same draws for some of the rows."""
        return replace(self, codes=self.codes[rows])

    def totals(self, values: ArrayLike, cells: NDArray[np.intp] | None = None, num_cells: int = 1) -> Floats:
        """Sum values over the rows, as observed and in each resample.

        Args:
            values: shape (rows,) or, without cells, (rows, …).
            cells: cell of a table that each row is added to, shape (rows,).

        Returns:
            Shape (1 + resamples, …); with cells (1 + resamples, num_cells).
        """
        row_values = np.asarray(values, dtype=float)
        shape = row_values.shape[1:] if cells is None else (num_cells,)
        sums = np.zeros((self.questions, *shape))
        np.add.at(sums, self.codes if cells is None else (self.codes, cells), row_values)
        return resample_totals(sums, seed=self.seed, resamples=self.resamples)


def resample_totals(
    sums: ArrayLike, *, counts: NDArray[np.intp] | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> Floats:
    """Add sums per question, as observed and in each resample.

    Args:
        sums: shape (questions, …). Sums of an integer or boolean type must add up to less than 2**24: they are added in 32 bits.
        counts: number of questions that each line of `sums` stands for, from `merge_identical`; 1 by default.

    Returns:
        Shape (1 + resamples, …).
    """
    lines = np.asarray(sums)
    dtype = np.float64 if np.issubdtype(lines.dtype, np.floating) else np.float32
    flat: NDArray[Any] = lines.reshape(len(lines), math.prod(lines.shape[1:])).astype(dtype)
    multiplicity = np.ones(len(lines), dtype=np.intp) if counts is None else counts
    observed: NDArray[Any] = (multiplicity.astype(dtype) @ flat)[None]
    blocks = _weights(len(lines), seed, resamples) if counts is None else iter([_draw(multiplicity, seed, resamples)])
    totals = np.concatenate([observed, *(np.asarray(weights @ flat) for weights in blocks)])
    return totals.astype(np.float64).reshape(len(totals), *lines.shape[1:])


def merge_identical(sums: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.intp]]:
    """Merge questions with equal sums, so that the cost of a bootstrap depends on the few distinct lines alone.

    Args:
        sums: integers, shape (questions, k).

    Returns:
        The distinct lines, shape (distinct, k), and the number of questions of each.
    """
    if not len(sums):
        return sums, np.zeros(0, dtype=np.intp)
    offsets = sums - sums.min(axis=0)
    codes = np.ravel_multi_index(tuple(offsets.T), tuple(offsets.max(axis=0) + 1))
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return sums[first], counts


def _weights(questions: int, seed: int, resamples: int) -> Iterator[NDArray[np.float32]]:
    """Yield the weights of all resamples in blocks of shape (lines, questions)."""
    if questions * resamples <= MAX_WEIGHTS:
        yield _cached_weights(questions, seed, resamples)
        return
    generator, size = np.random.default_rng(seed), max(1, MAX_WEIGHTS // questions)
    for start in range(0, resamples, size):
        yield _multinomial(generator, np.ones(questions, dtype=np.intp), min(size, resamples - start))


@lru_cache(maxsize=1)
def _cached_weights(questions: int, seed: int, resamples: int) -> NDArray[np.float32]:
    return _draw(np.ones(questions, dtype=np.intp), seed, resamples)


def _draw(counts: NDArray[np.intp], seed: int, resamples: int) -> NDArray[np.float32]:
    return _multinomial(np.random.default_rng(seed), counts, resamples)


def _multinomial(generator: np.random.Generator, counts: NDArray[np.intp], size: int) -> NDArray[np.float32]:
    if not len(counts):
        return np.zeros((size, 0), dtype=np.float32)
    return generator.multinomial(counts.sum(), counts / counts.sum(), size=size).astype(np.float32)


def percentile_interval(values: Floats) -> Interval:
    """Return the percentile interval of one statistic, shape (1 + resamples,); it contains the observed value."""
    low, high = percentile_bounds(values[:, None])
    return Interval(float(values[0]), float(low[0]), float(high[0]))


def percentile_bounds(values: Floats, method: Literal["linear", "inverted_cdf"] = "linear") -> tuple[Floats, Floats]:
    """Return the bounds of the percentile interval of each column, which contains the observed value.

    Args:
        values: shape (1 + resamples, k); resamples in which a statistic is undefined (NaN) are left out.
        method: as in `numpy.quantile`; "inverted_cdf" returns values that occurred, such as whole ranks.

    Returns:
        Low and high, both of shape (k,); NaN where the observed value is NaN, or all resampled ones.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    undefined = np.isnan(values)
    defined = ~undefined[0] & ~undefined[1:].all(axis=0)
    if len(values) > 1 and defined.any():
        quantile = np.nanquantile if undefined[1:, defined].any() else np.quantile
        bounds = quantile(values[1:, defined], [tail, 1 - tail], axis=0, method=method)
        low[defined], high[defined] = np.minimum(bounds[0], values[0, defined]), np.maximum(bounds[1], values[0, defined])
    return low, high


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Divide element by element; NaN where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)


def classification_resamples(
    bootstrap: QuestionBootstrap, y_true: ArrayLike, y_pred: ArrayLike, classes: Sequence[object] | None = None
) -> dict[str, Floats]:
    """Compute metrics of predicted classes, as observed and in each resample.

    Args:
        y_true, y_pred: classes, shape (rows,).
        classes: those that macro averages are over; by default all that occur.

    Returns:
        accuracy, macro_precision, macro_recall, macro_f1, weighted_f1 and kappa, each of shape (1 + resamples,). A class that is
        neither predicted nor drawn counts as 0 in the averages; kappa is NaN where it is 0/0.
    """
    import pandas as pd

    truth = np.asarray(y_true, dtype=object)
    codes, names = pd.factorize(np.concatenate([truth, np.asarray(y_pred, dtype=object)]), sort=True)
    size = len(names)
    cells = bootstrap.totals(np.ones(len(truth)), codes[: len(truth)] * size + codes[len(truth) :], size**2)
    confusion = cells.reshape(-1, size, size)
    hits, actual, predicted = np.diagonal(confusion, axis1=1, axis2=2), confusion.sum(axis=2), confusion.sum(axis=1)
    rows = actual.sum(axis=1)
    agreement, chance = ratio(hits.sum(axis=1), rows), ratio((actual * predicted).sum(axis=1), rows**2)
    averaged = slice(None) if classes is None else np.flatnonzero(pd.Index(names).isin(list(classes)))
    f1 = np.nan_to_num(ratio(2 * hits, actual + predicted))
    return {
        "accuracy": agreement,
        "macro_precision": np.nan_to_num(ratio(hits, predicted))[:, averaged].mean(axis=1),
        "macro_recall": np.nan_to_num(ratio(hits, actual))[:, averaged].mean(axis=1),
        "macro_f1": f1[:, averaged].mean(axis=1),
        "weighted_f1": ratio((f1 * actual).sum(axis=1), rows),
        "kappa": ratio(agreement - chance, 1 - chance),
    }
