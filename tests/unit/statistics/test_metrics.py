"""Classification metrics against closed forms."""

import math

import numpy as np
import pytest

from bert_judge.statistics.metrics import accuracy, auroc, classification_metrics, cohen_kappa, expected_calibration_error, macro_f1


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        ([0, 1], [0.0, 1.0], 0.0),
        ([1, 0], [0.0, 1.0], 1.0),
        ([0, 1], [1.0, 1.0], 0.5),
        ([1, 1, 1, 0], [0.75] * 4, 0.0),
        ([1] * 5 + [0] * 5, [0.9] * 10, 0.4),
        ([0, 1, 1, 1], [0.25, 0.25, 0.85, 0.85], 0.5 * 0.25 + 0.5 * 0.15),
        ([1, 0, 0], [0.85, 0.85, 0.15], (0.7 + 0.15) / 3),
        ([0.05, 0.15], [0.05, 0.15], 0.0),
        ([0.5], [1.0], 0.5),
        ([], [], math.nan),
    ],
)
def test_expected_calibration_error(labels: list[float], scores: list[float], expected: float) -> None:
    assert expected_calibration_error(labels, scores) == pytest.approx(expected, nan_ok=True)


def test_classification_metrics_of_a_known_confusion_matrix() -> None:
    # 40 true positives, 10 false negatives, 20 false positives, 30 true negatives.
    labels = [1] * 50 + [0] * 50
    metrics = classification_metrics(labels, [1.0] * 40 + [0.0] * 10 + [1.0] * 20 + [0.0] * 30)
    assert metrics == pytest.approx(
        {
            "n": 100,
            "base_rate": 0.5,
            "accuracy": 0.7,
            "kappa": (0.7 - 0.5) / 0.5,
            "macro_f1": (80 / 110 + 60 / 90) / 2,
            "auroc": (0.8 + 0.6) / 2,
            "balanced_accuracy": (0.8 + 0.6) / 2,
            "ece": 0.3,
        }
    )


def test_classification_metrics_omit_what_one_class_leaves_undefined() -> None:
    metrics = classification_metrics([1, 1], [0.9, 0.2])
    assert metrics["accuracy"] == 0.5
    assert "auroc" not in metrics and "kappa" not in metrics


def test_weights_count_rows_as_often() -> None:
    truth, predicted, weights = ["a", "b", "a"], ["a", "a", "b"], [3, 2, 1]
    repeated = np.repeat(truth, weights), np.repeat(predicted, weights)
    for metric in (macro_f1, cohen_kappa):
        assert metric(truth, predicted, sample_weight=weights) == pytest.approx(metric(*repeated))


def test_undefined_metrics_are_nan() -> None:
    undefined = [accuracy([], []), macro_f1([], []), cohen_kappa(["a"], ["a"]), auroc([True], [0.5]), auroc([], [])]
    assert np.isnan(undefined).all()
