"""Corrected accuracies against direct computation, and their laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bert_judge.evaluation.audit import ppi, sampling
from bert_judge.statistics.bootstrap import Interval

NAN = math.nan


def powered(predictions: object, truth: object, clusters: object, strata: object, **options: object) -> Interval:
    return ppi.interval_of(ppi.prediction_powered(predictions, truth, clusters=clusters, strata=strata, **options))


ONE = np.zeros(8)
EACH = np.arange(8)


def sample(n: int, labelled: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(scores, what people say of the first answers, what they would say of all) with a judge that is right in nine of ten."""
    random = np.random.default_rng(seed)
    right = (random.random(n) < 0.7).astype(float)
    scores = np.where(random.random(n) < 0.9, right, 1 - right) * 0.8 + 0.1
    return scores, np.where(np.arange(n) < labelled, right, NAN), right


def test_estimate_equals_ppi_plus_plus():
    """The published form: the judge's mean counts on the answers without labels, with its own tuning of λ."""
    f, y, _ = sample(400, 80)
    strata, known = np.zeros(400), ~np.isnan(y)
    n, rest = known.sum(), (~known).sum()
    covariance = np.cov(y[known], f[known], ddof=1)
    weight = covariance[0, 1] / covariance[1, 1] / (1 + n / rest)
    published = weight * f[~known].mean() + (y[known] - weight * f[known]).mean()
    estimate = powered(f, y, np.arange(400), strata)
    assert estimate.value == pytest.approx(published)
    variance = weight**2 * f[~known].var() / rest + (y[known] - weight * f[known]).var() / n
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * variance**0.5, rel=0.1)


@pytest.mark.parametrize("right", [0, 7, 25, 50])
def test_labels_alone_give_the_agresti_coull_interval(right):
    y = np.r_[np.arange(50) < right, np.full(9950, NAN)]
    estimate = powered(np.zeros(10_000), y, np.arange(10_000), np.zeros(10_000), weight=0.0)
    extra = ppi.PSEUDO_LABELS_ALONE
    share = (right + extra / 2) / (50 + extra)
    half = stats.t.ppf(0.975, 49) * (share * (1 - share) / (50 + extra)) ** 0.5
    assert estimate.value == right / 50
    assert (estimate.low, estimate.high) == pytest.approx((max(share - half, 0), min(share + half, 1)), abs=0.01)


def test_judge_is_irrelevant_if_all_are_labelled():
    f, _, right = sample(300, 0)
    other, _, _ = sample(300, 0, seed=1)
    first, second = (powered(p, right, np.arange(300), np.zeros(300), weight=1.0) for p in (f, other))
    assert first.value == second.value == pytest.approx(right.mean())
    assert first.high - first.low == pytest.approx(2 * 1.97 * (right.var() / 300) ** 0.5, rel=0.1)


@pytest.mark.parametrize("labels", [0, 1])
def test_too_few_labels_give_no_estimate(labels):
    y = np.where(labels > EACH, 1.0, NAN)
    assert math.isnan(powered(np.full(8, 0.5), y, EACH, ONE).value)
    assert math.isnan(powered([], [], [], []).value)


def test_invalid_verdicts_are_imputed():
    """Half of the right answers are invalid: taking them for wrong would halve the accuracy, leaving them out would too."""
    right = np.tile([1.0, 1.0, 0.0, 1.0], 250)
    invalid = np.tile([True, False, False, False], 250)
    scores = np.where(invalid, NAN, right)
    y = np.where(np.arange(1000) < 200, right, NAN)
    f = ppi.impute_scores(scores, np.zeros(1000))
    assert f[0] == pytest.approx(2 / 3)
    assert powered(f, y, np.arange(1000), np.zeros(1000)).value == pytest.approx(0.75)


def test_imputation_without_any_score():
    assert ppi.impute_scores([NAN, NAN, 0.2, NAN], ["a", "a", "b", "b"]).tolist() == [0.5, 0.5, 0.2, 0.2]


def test_repeated_answers_do_not_narrow_the_interval():
    f, y, _ = sample(200, 60)
    clusters = np.arange(200)
    once = powered(f, y, clusters, np.zeros(200))
    twice = powered(np.tile(f, 2), np.tile(y, 2), np.tile(clusters, 2), np.zeros(400))
    assert twice.value == pytest.approx(once.value)
    assert twice.high - twice.low > 0.95 * (once.high - once.low)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 1.0, NAN]), st.integers(0, 5)), min_size=1, max_size=60))
def test_intervals_stay_in_bounds_and_contain_the_estimate(rows):
    f, y, clusters = map(np.array, zip(*rows, strict=True))
    estimate = powered(f, y, clusters, np.zeros(len(f)))
    assert math.isnan(estimate.value) or 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@pytest.mark.parametrize(("on_right", "on_wrong"), [(0.8, 0.7), (0.98, 0.97)])
def test_coverage_of_the_interval(on_right, on_wrong):
    held, narrower = 0, 0
    for seed in range(120):
        random = np.random.default_rng(seed)
        right = random.random(600) < 0.6
        called = np.where(random.random(600) < np.where(right, on_right, on_wrong), right, ~right).astype(float)
        y = np.where(np.arange(600) < 80, right, NAN)
        judged, alone = (powered(called, y, np.arange(600), np.zeros(600), weight=power) for power in (None, 0.0))
        held += judged.low <= 0.6 <= judged.high
        narrower += judged.high - judged.low < alone.high - alone.low
    # 3.3 standard deviations below 95%.
    assert held >= 106
    assert narrower >= 115


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        ((0, 25, 2, 3, 15), [[0, 1, 2], [3, 4]]),
        ((5, 25, 6, 5, 15), [[0], [1], [2], [3], [4]]),
        ((0, 2, 0, 30, 30), [[0, 1, 2, 3], [4]]),
        ((0, 3, 0, 1, 3), [[0, 1, 2], [3, 4]]),
        ((0, 0, 0, 0, 0), [[0, 1, 2, 3, 4]]),
    ],
)
def test_score_ranges_are_merged_until_they_have_enough_labels(labels, groups):
    scores = np.repeat([NAN, 0.05, 0.3, 0.7, 0.95], 40)
    labelled = np.concatenate([np.arange(40) < count for count in labels])
    strata = sampling.assign_strata(["m"] * 200, scores, labelled)
    estimate = strata.reshape(5, 40)
    assert (estimate == estimate[:, :1]).all()
    assert [np.flatnonzero(estimate[:, 0] == number).tolist() for number in np.unique(strata)] == groups


def test_strata_separate_models():
    assert len(np.unique(sampling.assign_strata(["m", "n"] * 50, np.full(100, 0.5), np.zeros(100, bool)))) == 2
