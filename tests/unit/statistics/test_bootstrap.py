"""The bootstrap over questions: equal to resampling by hand, independent of how it is computed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from bert_judge.statistics import bootstrap
from bert_judge.statistics.bootstrap import QuestionBootstrap, classification_resamples, percentile_bounds, percentile_interval


def test_totals_are_sums_over_the_drawn_questions() -> None:
    questions, values = np.array(list("baabc")), np.array([1.0, 2, 3, 4, 5])
    draws = QuestionBootstrap.over(questions, resamples=20)
    weights = np.random.default_rng(0).multinomial(3, np.full(3, 1 / 3), size=20)
    expected = [values.sum(), *(weights @ np.array([5, 5, 5]))]
    assert draws.totals(values) == pytest.approx(np.array(expected))
    cells = draws.totals(np.ones(5), np.array([0, 1, 1, 0, 1]), 2)
    assert cells[1:] == pytest.approx(weights @ np.array([[0, 2], [2, 0], [0, 1]]))
    assert draws.select(questions == "a").totals(np.ones(2)) == pytest.approx(np.array([2, *(2 * weights[:, 0])]))


def test_blocks_of_weights_give_the_draws_of_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(1).random((30, 4))
    whole = bootstrap.resample_totals(sums, seed=3, resamples=50)
    monkeypatch.setattr(bootstrap, "MAX_WEIGHTS", 7 * 30)
    assert bootstrap.resample_totals(sums, seed=3, resamples=50) == pytest.approx(whole)


def test_identical_questions_are_merged_without_changing_totals() -> None:
    sums = np.random.default_rng(2).integers(-1, 3, size=(500, 2))
    lines, counts = bootstrap.merge_identical(sums)
    assert len(lines) == 16 and counts.sum() == 500
    merged, plain = (
        bootstrap.resample_totals(lines, counts=counts, resamples=4000),
        bootstrap.resample_totals(sums, resamples=4000),
    )
    assert merged[0] == pytest.approx(plain[0])
    assert merged.std(axis=0) == pytest.approx(plain.std(axis=0), rel=0.05)


def test_no_questions_give_no_interval() -> None:
    assert bootstrap.resample_totals(np.zeros((0, 2))).shape == (1 + bootstrap.RESAMPLES, 2)
    assert np.isnan(percentile_interval(bootstrap.ratio(np.zeros(5), np.zeros(5))).value)


def test_bounds_contain_the_observed_value_and_skip_undefined_resamples() -> None:
    values = np.array([[9.0, np.nan, 1], [1, 2, np.nan], [2, 3, np.nan], [np.nan, 4, np.nan]])
    low, high = percentile_bounds(values, method="inverted_cdf")
    assert low[0] == 1 and high[0] == 9
    assert np.isnan([low[1:], high[1:]]).all()


def test_classification_metrics_of_every_resample_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(4)
    truth, predicted, questions = random.choice(list("xyz"), 60), random.choice(list("xyzi"), 60), random.permutation(60) % 20
    resampled = classification_resamples(QuestionBootstrap.over(questions, resamples=5), truth, predicted, ["x", "y", "z"])
    weights = np.vstack([np.ones(20), np.random.default_rng(0).multinomial(20, np.full(20, 1 / 20), size=5)])
    codes = np.unique(questions, return_inverse=True)[1]
    for line, weight in enumerate(weights[:, codes]):
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            truth, predicted, labels=["x", "y", "z"], average="macro", sample_weight=weight, zero_division=0
        )
        expected = {
            "accuracy": metrics.accuracy_score(truth, predicted, sample_weight=weight),
            "macro_precision": precision,
            "macro_recall": recall,
            "macro_f1": f1,
            "weighted_f1": metrics.f1_score(truth, predicted, average="weighted", sample_weight=weight, zero_division=0),
            "kappa": metrics.cohen_kappa_score(truth, predicted, sample_weight=weight),
        }
        assert {name: values[line] for name, values in resampled.items()} == pytest.approx(expected)
