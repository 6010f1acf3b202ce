"""Estimates of other libraries from the same labels: ppi-python, and GLIDE, which needs Python 3.12 (`pip install glide-py`)."""

import math

import numpy as np
import pytest

from bert_judge.evaluation.audit import ppi

N = 4000


@pytest.fixture
def sample():
    """Predictions, truth and labelled truth of answers in four strata, clustered by question."""
    random = np.random.default_rng(0)
    question = np.repeat(np.arange(N // 4), 4)
    right = random.random(N) < 0.3 + 0.6 * random.random(N // 4)[question]
    prediction = np.clip(np.where(right, 0.9, 0.1) + random.normal(0, 0.4, N), 0, 1)
    return random, question, prediction, right.astype(float)


def label(truth, chosen):
    return np.where(chosen, truth, np.nan)


def assert_agree(estimate, value, low, high):
    """Equal up to the pseudo-labels, which widen an interval of 800 labels by little."""
    interval = estimate.interval()
    assert interval.value == pytest.approx(value, abs=0.002)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.003)


def test_ppi_python(sample):
    peer = pytest.importorskip("ppi_py")
    random, _, prediction, right = sample
    chosen = random.permutation(N) < 800
    data = right[chosen], prediction[chosen], prediction[~chosen]
    estimate = ppi.prediction_powered(prediction, label(right, chosen), clusters=np.arange(N), strata=np.zeros(N))
    assert_agree(estimate, peer.ppi_mean_pointestimate(*data)[0], *(bound[0] for bound in peer.ppi_mean_ci(*data, alpha=0.05)))


@pytest.mark.parametrize("design", ["uniform", "stratified", "clustered", "active"])
def test_glide(sample, design):
    peer = pytest.importorskip("glide.estimators")
    random, question, prediction, right = sample
    strata, clusters, probabilities = np.zeros(N), np.arange(N), np.full(N, 0.2)
    if design == "stratified":
        strata = np.digitize(prediction, [0.25, 0.5, 0.75])
        probabilities = np.array([0.1, 0.4, 0.3, 0.1])[strata]
    if design == "active":
        spread = np.sqrt(np.clip(prediction * (1 - prediction), 0.05, None))
        probabilities = 0.2 * spread / spread.mean()
    chosen = random.random(N) < probabilities
    if design == "clustered":
        clusters, chosen = question, (random.random(N // 4) < 0.5)[question]
    y = label(right, chosen)
    result = {
        "uniform": lambda: peer.PPIMeanEstimator().estimate(y, prediction),
        "stratified": lambda: peer.StratifiedPPIMeanEstimator().estimate(y, prediction, strata),
        "clustered": lambda: peer.ClusteredPPIMeanEstimator().estimate(y, prediction, clusters),
        "active": lambda: peer.ASIMeanEstimator().estimate(y, prediction, probabilities),
    }[design]()
    estimate = ppi.prediction_powered(
        prediction, y, clusters=clusters, strata=strata, probabilities=None if design == "stratified" else probabilities
    )
    bounds = result.confidence_interval
    error = bounds.std
    if design == "stratified":
        # GLIDE takes the answers of a stratum as fixed; here they are drawn from all possible questions.
        means = np.array([np.nanmean(y[strata == stratum]) for stratum in strata])
        error = math.sqrt(error**2 + means.var() / N)
    assert_agree(estimate, bounds.mean, bounds.mean - 1.96 * error, bounds.mean + 1.96 * error)
