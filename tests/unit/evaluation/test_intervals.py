"""All measures of agreement with their intervals: equal to the plain functions, wider with fewer questions."""

import math

import numpy as np
import pytest

from bert_judge.evaluation import statistics
from bert_judge.evaluation.intervals import measure_intervals
from bert_judge.runtime.metrics import expected_calibration_error


def drawn(n: int, questions: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Verdicts, scores, truth and questions of a judge that is right four times in five; one verdict in ten is invalid."""
    random = np.random.default_rng(seed)
    right = random.random(n) < 0.6
    scores = np.clip(right * 0.5 + random.random(n) * 0.6 - 0.05, 0, 1).round(2)
    verdicts = np.where(scores >= 0.5, "correct", "incorrect")
    invalid = random.random(n) < 0.1
    return np.where(invalid, "invalid", verdicts), np.where(invalid, np.nan, scores), right, random.integers(questions, size=n)


def test_the_values_are_those_of_the_plain_functions() -> None:
    verdicts, scores, right, clusters = drawn(800, 100)
    made = measure_intervals(verdicts, scores, right, clusters)
    truth, known = np.where(right, "correct", "incorrect"), ~np.isnan(scores)
    expected = {
        "accuracy": np.mean(verdicts == truth),
        "macro_f1": statistics.macro_f1(verdicts, truth),
        "kappa": statistics.kappa(verdicts, truth),
        "ece": expected_calibration_error(right[known], scores[known]),
        "auroc": statistics.auroc(scores[known], right[known]),
    }
    assert {name: interval.value for name, interval in made.items()} == pytest.approx(expected)
    assert all(interval.low < interval.high for interval in made.values())
    assert all(made[name].low <= made[name].value <= made[name].high for name in ("accuracy", "macro_f1", "kappa", "auroc"))


def test_answers_to_few_questions_say_less() -> None:
    verdicts, scores, right, _ = drawn(90, 90)
    repeated = [np.tile(column, 10) for column in (verdicts, scores, right)]
    few = measure_intervals(*repeated, np.tile(np.arange(90), 10))
    many = measure_intervals(*repeated, np.arange(900))
    for name in ("accuracy", "macro_f1", "kappa", "auroc"):
        assert few[name].value == pytest.approx(many[name].value)
        assert few[name].high - few[name].low > 2 * (many[name].high - many[name].low)


def test_the_accuracy_interval_agrees_with_the_analytic_one() -> None:
    verdicts, scores, right, clusters = drawn(2000, 300)
    made = measure_intervals(verdicts, scores, right, clusters)["accuracy"]
    analytic = statistics.proportion(verdicts == np.where(right, "correct", "incorrect"), clusters)
    assert (made.low, made.high) == pytest.approx((analytic.low, analytic.high), abs=0.006)


@pytest.mark.parametrize("scored", [True, False])
def test_one_class_or_no_scores_leave_measures_undefined(scored: bool) -> None:
    scores = np.full(6, 0.9 if scored else np.nan)
    made = measure_intervals(["correct"] * 6, scores, np.ones(6, bool), np.arange(6))
    assert made["accuracy"].value == 1 and math.isnan(made["auroc"].value) and math.isnan(made["kappa"].value)
    assert math.isnan(made["ece"].value) != scored
