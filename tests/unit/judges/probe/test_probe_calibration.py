"""Calibrated probabilities: independent of class names, informative, and robust to rare classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from bert_judge.judges.probe.classifiers import AllClassesClassifier, CalibratedClassifier, OrdinalClassifier
from bert_judge.judges.probe.judge import TRUSTED_TYPES

ROWS = 240
LOGISTIC = LogisticRegression(class_weight="balanced")
BASES = pytest.mark.parametrize("base", [LOGISTIC, LinearSVC(class_weight="balanced"), OrdinalClassifier(LOGISTIC)])


def simulate(lowest: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate rows whose first feature is informative, and classes from `lowest` on; the first is the most common."""
    random = np.random.default_rng(0)
    classes = np.maximum(np.arange(ROWS) % (count + 1) - 1, 0)
    rows = random.normal(size=(ROWS, 4))
    rows[:, 0] += 2 * classes
    return rows, classes + lowest


def calibrate(base: Any, rows: np.ndarray, classes: np.ndarray) -> CalibratedClassifier:
    # Contiguous blocks, so that some lack a rare class.
    parts = np.array_split(np.arange(len(rows)), 3)
    splits = [(np.concatenate([part for part in parts if part is not test]), test) for test in parts]
    return CalibratedClassifier(base).fit(rows, classes, splits)


@BASES
@pytest.mark.parametrize("count", [2, 4])
def test_class_names_do_not_matter(base: Any, count: int) -> None:
    rows, classes = simulate(0, count)
    from_zero, from_three = calibrate(base, rows, classes), calibrate(base, rows, classes + 3)
    np.testing.assert_allclose(from_zero.predict_proba(rows), from_three.predict_proba(rows))
    assert from_three.classes_.tolist() == list(range(3, 3 + count))
    assert (from_zero.predict(rows) + 3 == from_three.predict(rows)).all()


@BASES
@pytest.mark.parametrize("count", [2, 4])
def test_probabilities_beat_the_base_rates(base: Any, count: int) -> None:
    rows, classes = simulate(1, count)
    train = np.arange(ROWS) < ROWS // 2
    probabilities = calibrate(base, rows[train], classes[train]).predict_proba(rows[~train])
    base_rates = np.bincount(classes)[1:] / ROWS
    assert log_loss(classes[~train], probabilities) < 0.8 * -(base_rates * np.log(base_rates)).sum()
    np.testing.assert_allclose(probabilities.mean(axis=0), base_rates, atol=0.1)


@BASES
def test_class_with_a_single_row(base: Any) -> None:
    rows, classes = simulate(1, 3)
    without = log_loss(classes, calibrate(base, rows, classes).predict_proba(rows))
    classes[17] = 9
    model = calibrate(base, rows, classes)
    assert model.classes_.tolist() == [1, 2, 3, 9]
    assert log_loss(classes, model.predict_proba(rows)) < 1.2 * without + 0.1


def test_missing_class_gets_the_lowest_logit() -> None:
    rows, classes = simulate(0, 3)
    present = classes != 1
    logits = AllClassesClassifier(LOGISTIC, 3).fit(rows[present], classes[present]).decision_function(rows)
    np.testing.assert_array_equal(logits[:, 1], logits[:, [0, 2]].min(axis=1))


def test_skops_round_trip() -> None:
    rows, classes = simulate(1, 4)
    model = calibrate(OrdinalClassifier(LOGISTIC), rows, classes)
    loaded = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
