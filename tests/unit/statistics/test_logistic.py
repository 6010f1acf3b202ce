"""The logistic function and its inverse equal those of scipy."""

from __future__ import annotations

import numpy as np
from scipy import special

from bert_judge.statistics.logistic import expit, logit


def test_expit_equals_scipys() -> None:
    logits = np.array([-np.inf, -800.0, -40.0, -1.5, -1e-9, 0.0, 0.3, 17.0, 800.0, np.inf, np.nan])
    np.testing.assert_allclose(expit(logits), special.expit(logits), rtol=1e-13)


def test_logit_equals_scipys() -> None:
    shares = np.array([0.0, 1e-300, 1e-9, 0.2, 0.5, 0.7, 1 - 1e-12, 1.0, np.nan])
    np.testing.assert_allclose(logit(shares), special.logit(shares), rtol=1e-13)
    assert logit(0.5) == 0.0
