"""Temperature scaling against closed forms."""

import numpy as np
import pytest

from bert_judge.judges.bert.calibration import fit_temperature, scores


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
