"""Accuracies corrected with a second judge: how often their intervals cover its accuracy on all answers, and the truth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bert_judge.evaluation.audit.ppi import correct_accuracy

POPULATION, FILE_ROWS, CHECK_ROWS, FILES = 20_000, 300, 50, 100
ERROR_RATE = 0.1


def population(direction: str) -> pd.DataFrame:
    """Answers, 40% of them certain, with verdicts of a second judge that errs on 10%: of all, or of those of one kind only."""
    random = np.random.default_rng(7)
    truth = random.random(POPULATION) < 0.7
    certain = random.random(POPULATION) < 0.4
    is_right = random.random(POPULATION) < np.where(certain, 0.93, 0.6)
    shares = {"both": (0.1, 0.1), "accepts": (0.0, 0.1 / 0.3), "rejects": (0.1 / 0.7, 0.0), "none": (0.0, 0.0)}[direction]
    errs = random.random(POPULATION) < np.where(truth, *shares)
    score = np.where(truth == is_right, 0.5 + 0.5 * random.random(POPULATION), 0.5 * random.random(POPULATION))
    return pd.DataFrame({"certain": certain, "score": score, "truth": truth, "verdict": (truth != errs).astype(float)})


def coverage(answers: pd.DataFrame, target: str, error_rate: float) -> int:
    """Return in how many of `FILES` files the interval has the share of `target` in the population."""
    covered = 0
    for seed in range(FILES):
        random = np.random.default_rng(seed)
        file = answers.iloc[random.integers(0, POPULATION, FILE_ROWS)].reset_index(drop=True)
        not_asked = random.permutation(np.flatnonzero(file["certain"]))[CHECK_ROWS:]
        file = file.assign(question=range(FILE_ROWS), model="m", second=file["verdict"].mask(file.index.isin(not_asked)))
        interval = correct_accuracy(file, error_rate)
        covered += interval.low <= answers[target].mean() <= interval.high
    return covered


@pytest.mark.parametrize("direction", ["none", "both", "accepts", "rejects"])
def test_coverage(direction: str) -> None:
    answers = population(direction)
    # Whatever the second judge is worth, its own accuracy on all answers is covered: this is what the plain interval is about.
    assert coverage(answers, "verdict", 0.0) >= 90
    assert coverage(answers, "truth", ERROR_RATE if direction != "none" else 0.0) >= 90


@pytest.mark.parametrize("direction", ["accepts", "rejects"])
def test_its_errors_are_not_in_the_plain_interval(direction: str) -> None:
    assert coverage(population(direction), "truth", 0.0) < 50


def test_bounds() -> None:
    certain = [n % 2 == 0 for n in range(40)]
    rows = pd.DataFrame({"question": range(40), "model": "m", "certain": certain, "score": 0.9, "second": 1.0})
    plain, widened = correct_accuracy(rows), correct_accuracy(rows, 0.2)
    assert (widened.value, widened.high) == (plain.value, 1.0)
    assert widened.low == pytest.approx(plain.low - 0.2)
    # A group of answers with a single verdict has no interval, however wide.
    rows.loc[rows["certain"], "second"] = math.nan
    assert math.isnan(correct_accuracy(rows, 0.2).low) and math.isnan(correct_accuracy(rows, 0.2).high)
