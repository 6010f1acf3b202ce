"""Accuracy among attempted answers, and SimpleQA's F-score."""

import math

import pytest

from bert_judge.statistics.metrics import attempt_metrics


def test_the_numbers_of_an_example() -> None:
    # 4 of 10 correct, 5 attempted: precision .8, recall .4.
    metrics = attempt_metrics([True] * 4 + [False] * 6, [True] * 5 + [False] * 5)
    assert metrics == pytest.approx((0.5, 0.8, 2 * 0.8 * 0.4 / 1.2))


def test_without_attempts_or_answers() -> None:
    attempted, accuracy, f_score = attempt_metrics([False], [False])
    assert (attempted, f_score) == (0, 0) and math.isnan(accuracy)
    assert all(map(math.isnan, attempt_metrics([], [])))
