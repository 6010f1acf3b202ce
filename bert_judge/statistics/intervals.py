"""Confidence intervals and tests of accuracies and their differences.

Several answers to one question are not independent, so the sampling unit of every interval is the question.
"""

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_judge.statistics.accuracy_range import MIN_GAP
from bert_judge.statistics.bootstrap import (
    CONFIDENCE,
    UNKNOWN,
    Floats,
    Interval,
    merge_identical,
    percentile_bounds,
    percentile_interval,
    ratio,
    resample_totals,
)

# Differences are integers with few distinct sums per question, so more resamples cost little.
DIFFERENCE_RESAMPLES = 2000
# Power of the test that has a minimum detectable effect.
POWER = 0.8


def proportion(successes: ArrayLike, clusters: ArrayLike) -> Interval:
    """Estimate a proportion with a cluster-robust 95% interval: Wilson's for the effective sample size (`_effective_size`).

    Args:
        successes: booleans, shape (n,).
        clusters: question of each row, shape (n,).
    """
    from scipy import special

    hits = np.asarray(successes, dtype=float)
    if len(hits) == 0:
        return UNKNOWN
    share = float(hits.mean())
    effective_size = _effective_size(hits - share, clusters)
    z = float(special.ndtri((1 + CONFIDENCE) / 2))
    shrinkage = z**2 / effective_size
    center = (share + shrinkage / 2) / (1 + shrinkage)
    half = z * math.sqrt((share * (1 - share) + shrinkage / 4) / effective_size) / (1 + shrinkage)
    return Interval(share, min(max(center - half, 0.0), share), max(min(center + half, 1.0), share))


def proportion_lower_bound(successes: ArrayLike, clusters: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float]:
    """Return a proportion and its one-sided 95% lower bound, by Clopper and Pearson's exact method for the effective sample size.

    Arguments are as in `proportion`, n > 0; `weights`: 1 / inclusion probability of each row, shape (n,).
    """
    from scipy import special

    hits = np.asarray(successes, dtype=float)
    weight = np.ones(len(hits)) if weights is None else np.asarray(weights, float) / np.mean(np.asarray(weights, float))
    share = min(float((weight * hits).mean()), 1.0)
    size = _effective_size(hits - share, clusters, weight)
    return share, float(special.betaincinv(share * size, (1 - share) * size + 1, 1 - CONFIDENCE)) if share > 0 else 0.0


def _effective_size(residuals: Floats, clusters: ArrayLike, weights: Floats | None = None) -> float:
    """Return the number of independent rows that would estimate a proportion as precisely.

    The number of rows is divided by the design effect, the cluster-robust variance of the mean over the binomial one, at least 1,
    and then multiplied by the ratio of t quantiles that corrects for few clusters (Korn and Graubard 1998, Survey Methodology
    24:193). With one row per cluster and no weights it is n; with 0 or n successes the variance is uninformative, and it is the
    number of clusters (with weights, Kish's effective size if that is smaller). Weights have mean 1, shape (n,).
    """
    import pandas as pd
    from scipy import special

    codes, distinct = pd.factorize(np.asarray(clusters))
    n, num_clusters = len(residuals), len(distinct)
    weight = np.ones(n) if weights is None else weights
    if num_clusters == n and np.ptp(weight) == 0:
        return float(n)
    binomial = float((weight * residuals**2).sum())
    if num_clusters == 1 or binomial == 0:
        return min(float(num_clusters), n**2 / float((weight**2).sum()))
    robust = float((np.bincount(codes, weight * residuals) ** 2).sum()) * num_clusters / (num_clusters - 1)
    design_effect = max(robust / binomial, 1.0)
    quantile = (1 + CONFIDENCE) / 2
    few_clusters = float((special.stdtrit(n - 1, quantile) / special.stdtrit(num_clusters - 1, quantile)) ** 2)
    return max(n / design_effect * few_clusters, 1.0)


def paired_difference(first: ArrayLike, second: ArrayLike, clusters: ArrayLike) -> Interval:
    """Estimate the mean of first minus second, booleans of shape (n,), with a 95% bootstrap interval over clusters."""
    import pandas as pd

    difference = np.asarray(first, dtype=np.int64) - np.asarray(second, dtype=np.int64)
    codes, _ = pd.factorize(np.asarray(clusters))
    return mean_of_clusters(np.bincount(codes, difference), np.bincount(codes))


def mean_of_clusters(sums: ArrayLike, rows: ArrayLike) -> Interval:
    """Estimate total sum / total rows of integers per cluster, shape (clusters,), with a 95% bootstrap interval over clusters."""
    clusters = np.stack([np.asarray(sums), np.asarray(rows)], axis=1).astype(np.int64)
    if not len(clusters):
        return UNKNOWN
    lines, counts = merge_identical(clusters)
    totals = resample_totals(lines, counts=counts, resamples=DIFFERENCE_RESAMPLES)
    return percentile_interval(totals[:, 0] / totals[:, 1])


def sign_test_p(more: ArrayLike, fewer: ArrayLike) -> Floats:
    """Return exact two-sided sign (McNemar) test p values from counts in favour of either side, any shape; 1 for no counts."""
    from scipy import special

    b, c = np.asarray(more), np.asarray(fewer)
    return np.minimum(2 * special.bdtr(np.minimum(b, c), b + c, 0.5), 1.0)


def mcnemar_p(first: ArrayLike, second: ArrayLike) -> float:
    """Return the exact two-sided McNemar test p value of two booleans on the same rows, shape (n,); NaN for no rows."""
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if len(a) == 0:
        return math.nan
    return float(sign_test_p((a & ~b).sum(), (~a & b).sum()))


def min_detectable_effect(sums: ArrayLike, rows: ArrayLike) -> float:
    """Return the smallest true `mean_of_clusters` that a two-sided test at 5% tells from 0 with a power of 80%.

    (z(0.975) + z(0.8)) times the cluster-robust standard error; with one row per cluster this is Connor's (1987, Biometrics
    43:207) for McNemar's test. NaN for fewer than two clusters and for equal differences, which do not show the variance.
    """
    from scipy import special

    total, size = np.asarray(sums, dtype=float), np.asarray(rows, dtype=float)
    n = len(total)
    if n < 2:
        return math.nan
    residuals = total - total.sum() / size.sum() * size
    error = math.sqrt(float((residuals**2).sum()) * n / (n - 1)) / size.sum()
    return float(special.ndtri((1 + CONFIDENCE) / 2) + special.ndtri(POWER)) * error if error > 0 else math.nan


def adjust_holm(p_values: ArrayLike) -> Floats:
    """Adjust the p values of one family, shape (n,), by Holm's method (1979); NaN stays NaN and is not counted."""
    # Not statsmodels' `multipletests`, which collects the garbage of the whole process in every call: 0.25 s or more.
    p = np.asarray(p_values, dtype=float)
    order, adjusted = np.argsort(p)[: np.count_nonzero(~np.isnan(p))], np.full(p.shape, math.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def is_significant(
    p_adjusted: ArrayLike, low: ArrayLike, high: ArrayLike, range_low: ArrayLike = math.nan, range_high: ArrayLike = math.nan
) -> NDArray[np.bool_]:
    """Decide which differences are significant, any shape: the one rule of all tables and of the report.

    The paired test, adjusted for the other pairs of its family, has p < 0.05, and the 95% interval of the difference excludes 0.
    The interval matters only with several answers to a question: there, the sign test counts the questions that favour a model,
    and may point to the one with the lower mean. NaN is not significant. Nor is a difference whose range over uncertain verdicts
    (`statistics.accuracy_range`) comes closer than `MIN_GAP` to 0; NaN: it has no such range.
    """
    p, lowest, highest = (np.asarray(values, dtype=float) for values in (p_adjusted, low, high))
    may_reverse = (np.asarray(range_low, dtype=float) < MIN_GAP) & (np.asarray(range_high, dtype=float) > -MIN_GAP)
    return (p < 1 - CONFIDENCE) & ((lowest > 0) | (highest < 0)) & ~may_reverse


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's tau-b of two lists of values; NaN for fewer than two, or if all values of one are equal."""
    # It takes a third of a second to import, and certificates and scores do without.
    from scipy import stats

    if np.size(first) < 2:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        return float(stats.kendalltau(first, second, variant="b").statistic)


def rank_correlation_interval(first: Floats, second: Floats) -> Interval:
    """Return Kendall's tau-b of resampled values of models, shape (1 + resamples, models), with its interval over the resamples.

    Models with an undefined observed value (NaN) are left out.
    """
    shared = ~np.isnan(first[0]) & ~np.isnan(second[0])
    a, b = np.triu_indices(int(shared.sum()), 1)
    # A model without a drawn question ranks neither above nor below another one.
    signs = [np.nan_to_num(np.sign(values[:, shared][:, a] - values[:, shared][:, b])) for values in (first, second)]
    scale = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    tau = ratio((signs[0] * signs[1]).sum(axis=1), scale)
    low, high = percentile_bounds(tau[:, None], method="inverted_cdf")
    return Interval(float(tau[0]), float(low[0]), float(high[0]))


def rank_lines(values: Floats) -> Floats:
    """Rank the models in each line, shape (lines, models): 1 is best, equal values share the better rank, NaN has none."""
    defined = np.where(np.isnan(values), -np.inf, values)
    ranks = 1.0 + (defined[:, None, :] > defined[:, :, None]).sum(axis=2)
    return np.where(np.isnan(values), np.nan, ranks)
