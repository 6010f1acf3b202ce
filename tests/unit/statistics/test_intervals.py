"""Intervals and tests against closed forms and other libraries."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from bert_judge.statistics import intervals as stats
from bert_judge.statistics.bootstrap import Interval


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 20), (499, 1000)])
def test_one_answer_per_question_gives_wilsons_interval(k, n):
    interval = stats.proportion([True] * k + [False] * (n - k), range(n))
    low, high = proportion_confint(k, n, method="wilson")
    assert (interval.value, interval.low, interval.high) == pytest.approx((k / n, max(low, 0), min(high, 1)))


def test_proportion_of_no_rows_is_undefined():
    assert all(math.isnan(v) for v in vars(stats.proportion([], [])).values())


def test_repeated_answers_do_not_narrow_the_interval():
    once = stats.proportion([True, False, True, True] * 25, range(100))
    copied = stats.proportion([True, False, True, True] * 25 * 3, list(range(100)) * 3)
    assert copied.value == once.value
    assert copied.high - copied.low == pytest.approx(once.high - once.low, rel=0.02)


def test_clustered_interval_is_near_the_cluster_robust_one_of_statsmodels():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(400), 5)
    hits = rng.random(2000) < np.repeat(rng.beta(2, 2, 400), 5)
    robust = sm.OLS(hits.astype(float), np.ones(2000)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    low, high = robust.conf_int()[0]
    interval = stats.proportion(hits, clusters)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.002)


@pytest.mark.parametrize("right", [True, False])
def test_constant_outcomes_count_questions_and_not_rows(right):
    interval = stats.proportion([right] * 40, [i // 4 for i in range(40)])
    low, high = proportion_confint(10 * right, 10, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((max(low, 0), min(high, 1)))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_interval_contains_the_proportion_and_stays_in_bounds(rows):
    interval = stats.proportion([hit for hit, _ in rows], [cluster for _, cluster in rows])
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_the_clustered_interval_covers_the_truth():
    rng = np.random.default_rng(7)
    clusters, covered = np.repeat(np.arange(30), 4), 0
    for _ in range(300):
        interval = stats.proportion(rng.random(120) < np.repeat(rng.beta(1.5, 1, 30), 4), clusters)
        covered += interval.low <= 0.6 <= interval.high
    assert covered / 300 == pytest.approx(0.95, abs=0.035)


def test_paired_difference_matches_a_plain_bootstrap():
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 60, 300)
    first, second = rng.random(300) < 0.8, rng.random(300) < 0.6
    difference = first.astype(float) - second
    sums, counts = np.bincount(clusters, difference, 60), np.bincount(clusters, minlength=60)
    draws = rng.integers(0, 60, (20000, 60))
    low, high = np.quantile(sums[draws].sum(1) / counts[draws].sum(1), [0.025, 0.975])
    interval = stats.paired_difference(first, second, clusters)
    assert interval.value == pytest.approx(difference.mean())
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.01)
    assert interval == stats.paired_difference(first, second, clusters)


def test_identical_judges_do_not_differ():
    assert stats.paired_difference([True, False], [True, False], [1, 2]) == Interval(0, 0, 0)
    assert stats.mcnemar_p([True, False], [True, False]) == 1
    assert math.isnan(stats.mcnemar_p([], []))
    assert math.isnan(stats.paired_difference([], [], []).value)


@pytest.mark.parametrize(("b", "c"), [(0, 5), (3, 9), (7, 7), (12, 1)])
def test_mcnemar_is_a_binomial_test_of_the_discordant_rows(b, c):
    first = [True] * b + [False] * c + [True] * 8
    second = [False] * b + [True] * c + [True] * 8
    assert stats.mcnemar_p(first, second) == pytest.approx(binomtest(b, b + c).pvalue)


def test_rank_correlation_of_constant_values_is_undefined():
    assert math.isnan(stats.rank_correlation([1.0], [1.0]))
    assert math.isnan(stats.rank_correlation([1.0, 1.0], [1.0, 2.0]))


def test_rank_correlation_by_hand():
    # Of the three pairs two agree and one does not.
    assert stats.rank_correlation([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)
