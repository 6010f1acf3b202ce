"""Numbers with their doubt: intervals, agreement measures and paired tests.

Several answers to one question are not independent, so every interval here takes the question as the unit that was drawn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn import metrics
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from bert_judge import tables

# Texts out of `tables.VERDICTS`, one per row.
Verdicts = Sequence[str] | NDArray[np.str_] | pd.Categorical

CONFIDENCE = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95% interval; all NaN where nothing was observed."""

    value: float
    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan, math.nan)


def proportion(successes: ArrayLike, clusters: ArrayLike) -> Interval:
    """A share with a 95% interval that respects clusters.

    Wilson's interval, with the number of rows replaced by the effective sample size n / d. The design effect d is the
    cluster-robust variance of the mean over the binomial one, and is never taken below 1; the effective size is then shrunk by
    the ratio of t quantiles for few clusters (Korn and Graubard 1998, Survey Methodology 24:193). With one row per cluster and
    with 0 or n successes the variance says nothing: there the size is n, or the number of clusters. So one answer per
    question gives the plain Wilson interval, and the ends stay within [0, 1].

    Args:
        successes: shape (n,), booleans.
        clusters: shape (n,), a hashable value per row; equal values are one cluster.
    """
    hits = np.asarray(successes, dtype=float)
    n = len(hits)
    if n == 0:
        return UNKNOWN
    code, distinct = pd.factorize(np.asarray(clusters))
    groups = len(distinct)
    share = float(hits.mean())
    effective = float(n) if groups == n else _effective_size(hits - share, code, groups)
    low, high = proportion_confint(share * effective, effective, alpha=1 - CONFIDENCE, method="wilson")
    return Interval(share, min(float(low), share), max(float(high), share))


def _effective_size(residuals: NDArray[np.float64], code: NDArray[np.intp], groups: int) -> float:
    n = len(residuals)
    binomial = float((residuals**2).sum())
    if groups == 1 or binomial == 0:
        return float(groups)
    robust = float((np.bincount(code, residuals) ** 2).sum()) * groups / (groups - 1)
    design_effect = max(robust / binomial, 1.0)
    quantile = (1 + CONFIDENCE) / 2
    few_clusters = float((stats.t.ppf(quantile, n - 1) / stats.t.ppf(quantile, groups - 1)) ** 2)
    return max(n / design_effect * few_clusters, 1.0)


def paired_difference(first: ArrayLike, second: ArrayLike, clusters: ArrayLike, seed: int = 0) -> Interval:
    """Mean of first minus second over the same rows, with a 95% percentile bootstrap over clusters.

    Args:
        first, second: shape (n,), booleans of the same rows.
        clusters: shape (n,), as in `proportion`.
        seed: same seed, same interval.
    """
    difference = np.asarray(first, dtype=np.int64) - np.asarray(second, dtype=np.int64)
    code, _ = pd.factorize(np.asarray(clusters))
    return mean_of_clusters(np.bincount(code, difference).astype(np.int64), np.bincount(code), seed)


def mean_of_clusters(sums: ArrayLike, rows: ArrayLike, seed: int = 0) -> Interval:
    """Sum of `sums` over sum of `rows`, with a 95% percentile bootstrap over clusters.

    Drawing clusters with replacement is drawing from the distinct pairs (sum, rows) with their multiplicities, so the cost
    depends on the few distinct pairs and not on the number of clusters.

    Args:
        sums, rows: shape (clusters,), whole numbers, rows above 0.
        seed: same seed, same interval.
    """
    total, size = np.asarray(sums, dtype=np.int64), np.asarray(rows, dtype=np.int64)
    if not len(total):
        return UNKNOWN
    lowest, width = int(total.min()), int(size.max()) + 1
    number = np.bincount((total - lowest) * width + size)
    kind = np.flatnonzero(number)
    pairs, count = np.stack([kind // width + lowest, kind % width], axis=1), number[kind]
    draws = np.random.default_rng(seed).multinomial(count.sum(), count / count.sum(), size=RESAMPLES) @ pairs
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws[:, 0] / draws[:, 1], [tail, 1 - tail])
    return Interval(float(total.sum() / size.sum()), float(low), float(high))


def sign_test_p(more: ArrayLike, fewer: ArrayLike) -> NDArray[np.float64]:
    """Exact two-sided McNemar (sign) test, any shape: `more` cases speak for one side, `fewer` for the other; 1 without any."""
    b, c = np.asarray(more), np.asarray(fewer)
    return np.minimum(2 * stats.binom.cdf(np.minimum(b, c), b + c, 0.5), 1.0)


def detectable_difference(sums: ArrayLike, rows: ArrayLike, power: float = 0.8) -> float:
    """Smallest true mean difference that a two-sided test at 5% finds with this power, were the differences spread as here.

    (z(0.975) + z(power)) times the cluster-robust standard error; with one row per cluster this is Connor's (1987, Biometrics
    43:207) for McNemar's test. NaN for fewer than two clusters, and where all differ by the same amount: that says nothing of
    the spread.

    Args:
        sums, rows: as in `mean_of_clusters`.
    """
    total, size = np.asarray(sums, dtype=float), np.asarray(rows, dtype=float)
    n = len(total)
    if n < 2:
        return math.nan
    residuals = total - total.sum() / size.sum() * size
    error = math.sqrt(float((residuals**2).sum()) * n / (n - 1)) / size.sum()
    return (stats.norm.ppf((1 + CONFIDENCE) / 2) + stats.norm.ppf(power)) * error if error > 0 else math.nan


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """p values of one family, shape (n,), adjusted after Holm 1979; NaN stays NaN and is no member."""
    p = np.asarray(p_values, dtype=float)
    adjusted, known = np.full(p.shape, math.nan), ~np.isnan(p)
    if known.any():
        adjusted[known] = multipletests(p[known], method="holm")[1]
    return adjusted


def mcnemar_p(first: ArrayLike, second: ArrayLike) -> float:
    """Exact two-sided McNemar test of two booleans on the same rows, shape (n,); NaN without rows."""
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if len(a) == 0:
        return math.nan
    table = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
    return float(mcnemar(table, exact=True).pvalue)


def macro_f1(verdicts: Verdicts, gold: Verdicts) -> float:
    """Mean of the F1 of correct and of incorrect, shape (n,) texts; an invalid verdict misses the class of its gold label."""
    said, truth, rows = _cells(verdicts, gold)
    if not rows:
        return math.nan
    classes = ["correct", "incorrect"]
    return float(metrics.f1_score(truth, said, labels=classes, average="macro", zero_division=0, sample_weight=rows))


def kappa(verdicts: Verdicts, gold: Verdicts) -> float:
    """Cohen's kappa, shape (n,) texts, invalid being a third verdict; NaN where it is 0/0."""
    said, truth, rows = _cells(verdicts, gold)
    if len({*said, *truth}) < 2:
        return math.nan
    return float(metrics.cohen_kappa_score(truth, said, sample_weight=rows))


def scott_pi(verdicts: Verdicts, others: Verdicts) -> float:
    """Scott's pi (1955), shape (n,) texts: kappa with one common distribution of verdicts for both sides; NaN where it is 0/0."""
    said, truth, rows = _cells(verdicts, others)
    if len({*said, *truth}) < 2:
        return math.nan
    n = sum(rows)
    observed = sum(count for a, b, count in zip(said, truth, rows, strict=True) if a == b) / n
    common = pd.Series([*rows, *rows]).groupby([*said, *truth]).sum() / (2 * n)
    expected = float((common**2).sum())
    return (observed - expected) / (1 - expected)


def brier(scores: ArrayLike, positive: ArrayLike) -> float:
    """Mean squared distance between score and truth (Brier 1950); NaN without rows. Shapes (n,): scores in [0, 1], booleans."""
    truth = np.asarray(positive, dtype=bool)
    return float(metrics.brier_score_loss(truth, np.asarray(scores, dtype=float), pos_label=True)) if len(truth) else math.nan


def _cells(verdicts: Verdicts, gold: Verdicts) -> tuple[list[str], list[str], list[int]]:
    """The confusion matrix as its cells (verdict, gold, rows): scikit-learn is slow on many texts, and equal on weighted cells."""
    one, two = (pd.Index(tables.VERDICTS).get_indexer(pd.Index(texts)) for texts in (verdicts, gold))
    size = len(tables.VERDICTS)
    rows = np.bincount(one.astype(np.intp) * size + two, minlength=size**2)
    cells = [(tables.VERDICTS[at // size], tables.VERDICTS[at % size], int(rows[at])) for at in np.flatnonzero(rows)]
    return [said for said, _, _ in cells], [truth for _, truth, _ in cells], [count for _, _, count in cells]


def auroc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Area under the ROC curve; NaN where only one class is there. Shapes (n,): scores in [0, 1], booleans."""
    truth = np.asarray(positive, dtype=bool)
    if truth.all() or not truth.any():
        return math.nan
    return float(metrics.roc_auc_score(truth, np.asarray(scores, dtype=float)))


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b of two lists of values; NaN for fewer than two, or where all values of one are equal."""
    if np.size(first) < 2:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        return float(stats.kendalltau(first, second, variant="b").statistic)
