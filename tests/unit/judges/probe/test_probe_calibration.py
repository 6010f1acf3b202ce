"""Probabilities of a probe's classifier: told from the data whatever the classes are called, and sane where one of them is rare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from bert_judge.judges.probe.calibration import AllClasses, Calibrated
from bert_judge.judges.probe.folder import TRUSTED
from bert_judge.judges.probe.heads import OrdinalClassifier

ROWS = 240
LOGISTIC = LogisticRegression(class_weight="balanced")
BASES = pytest.mark.parametrize("base", [LOGISTIC, SVC(class_weight="balanced"), OrdinalClassifier(LOGISTIC)])


def made(lowest: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first number says much about their class, and the classes from `lowest` on; the first is the commonest."""
    random = np.random.default_rng(0)
    classes = np.maximum(np.arange(ROWS) % (count + 1) - 1, 0)
    rows = random.normal(size=(ROWS, 4))
    rows[:, 0] += 2 * classes
    return rows, classes + lowest


def fitted(base: Any, rows: np.ndarray, classes: np.ndarray) -> Calibrated:
    # Long blocks, whatever the classes: a rare one is missing in some.
    parts = np.array_split(np.arange(len(rows)), 3)
    splits = [(np.concatenate([part for part in parts if part is not test]), test) for test in parts]
    return Calibrated(base).fit(rows, classes, splits)


@BASES
@pytest.mark.parametrize("count", [2, 4])
def test_the_names_of_the_classes_change_nothing(base: Any, count: int) -> None:
    rows, classes = made(0, count)
    from_zero, from_three = fitted(base, rows, classes), fitted(base, rows, classes + 3)
    np.testing.assert_allclose(from_zero.predict_proba(rows), from_three.predict_proba(rows))
    assert from_three.classes_.tolist() == list(range(3, 3 + count))
    assert (from_zero.predict(rows) + 3 == from_three.predict(rows)).all()


@BASES
@pytest.mark.parametrize("count", [2, 4])
def test_probabilities_know_more_than_how_common_a_class_is(base: Any, count: int) -> None:
    rows, classes = made(1, count)
    seen = np.arange(ROWS) < ROWS // 2
    probabilities = fitted(base, rows[seen], classes[seen]).predict_proba(rows[~seen])
    shares = np.bincount(classes)[1:] / ROWS
    assert log_loss(classes[~seen], probabilities) < 0.8 * -(shares * np.log(shares)).sum()
    np.testing.assert_allclose(probabilities.mean(axis=0), shares, atol=0.1)


@BASES
def test_a_class_of_one_row_spoils_nothing(base: Any) -> None:
    rows, classes = made(1, 3)
    without = log_loss(classes, fitted(base, rows, classes).predict_proba(rows))
    classes[17] = 9
    model = fitted(base, rows, classes)
    assert model.classes_.tolist() == [1, 2, 3, 9]
    assert log_loss(classes, model.predict_proba(rows)) < 1.2 * without + 0.1


def test_a_class_that_is_not_known_is_no_likelier_than_those_that_are() -> None:
    rows, classes = made(0, 3)
    there = classes != 1
    logits = AllClasses(LOGISTIC, 3).fit(rows[there], classes[there]).decision_function(rows)
    np.testing.assert_array_equal(logits[:, 1], logits[:, [0, 2]].min(axis=1))


def test_it_is_stored_without_foreign_code() -> None:
    rows, classes = made(1, 4)
    model = fitted(OrdinalClassifier(LOGISTIC), rows, classes)
    again = skops.io.loads(skops.io.dumps(model), trusted=TRUSTED)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
