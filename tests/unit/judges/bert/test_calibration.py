"""Temperature and expected calibration error against closed forms."""

import numpy as np
import pytest

from bert_judge.judges.bert.calibration import expected_calibration_error, fit_temperature, scores
from bert_judge.judges.bert.metrics import classification


@pytest.mark.parametrize(
    ("probabilities", "labels", "expected"),
    [
        ([0.0, 1.0], [0, 1], 0.0),
        ([0.0, 1.0], [1, 0], 1.0),
        ([0.75] * 4, [1, 1, 1, 0], 0.0),
        ([0.9] * 10, [1] * 5 + [0] * 5, 0.4),
        ([0.25, 0.25, 0.85, 0.85], [0, 1, 1, 1], 0.5 * 0.25 + 0.5 * 0.15),
        ([1.0], [0.5], 0.5),
    ],
)
def test_expected_calibration_error(probabilities: list[float], labels: list[float], expected: float) -> None:
    assert expected_calibration_error(probabilities, labels) == pytest.approx(expected)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(temperature: float) -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 4, 20_000)
    labels = random.random(20_000) < scores(logits, temperature)
    assert fit_temperature(logits, labels) == pytest.approx(temperature, rel=0.08)


def test_soft_labels_are_fitted_exactly() -> None:
    logits = np.linspace(-3, 3, 50)
    assert fit_temperature(logits, scores(logits, 2.5)) == pytest.approx(2.5, rel=1e-3)


def test_no_rows_and_perfect_rows_stay_in_bounds() -> None:
    assert fit_temperature([], []) == 1.0
    assert 0.1 <= fit_temperature([5.0, -5.0], [1, 0]) < 0.2


def test_metrics_of_one_class_leave_out_what_is_undefined() -> None:
    metrics = classification([1, 1], [0.9, 0.2])
    assert metrics["accuracy"] == 0.5
    assert "auroc" not in metrics and "kappa" not in metrics


def test_metrics_of_a_known_table() -> None:
    # 40 right-right, 10 right-wrong, 20 wrong-right, 30 wrong-wrong.
    labels = [1] * 50 + [0] * 50
    predicted = [1.0] * 40 + [0.0] * 10 + [1.0] * 20 + [0.0] * 30
    metrics = classification(labels, predicted)
    assert metrics["accuracy"] == pytest.approx(0.7)
    assert metrics["kappa"] == pytest.approx((0.7 - 0.5) / 0.5)
    assert metrics["macro_f1"] == pytest.approx((80 / 110 + 60 / 90) / 2)
