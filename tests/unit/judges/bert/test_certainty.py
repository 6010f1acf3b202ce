"""Which verdicts are certain: scores at which the measured error is at most 10%, with its bound."""

from __future__ import annotations

import numpy as np
import pytest

from bert_judge.encoder.checkpoint import CertainScores
from bert_judge.judges.bert.certainty import (
    ANY_KIND,
    FIRST_ROWS,
    MAX_ERROR,
    fit_certain_scores,
    fit_own_certain_scores,
    is_certain,
)


def _answers(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated scores and labels."""
    generator = np.random.default_rng(seed)
    scores = generator.uniform(0, 1, n)
    return scores, (generator.uniform(0, 1, n) < scores).astype(float)


def test_certain_verdicts_of_new_answers_are_wrong_in_at_most_a_tenth() -> None:
    """Calibrated scores: the mean error from a score s on is (1 - s) / 2, so exact thresholds would be 0.8 and 0.2."""
    scores, labels = _answers(4_000, seed=0)
    certain = fit_certain_scores(["sentences"] * 4_000, scores, labels, np.arange(4_000))["sentences"]
    assert certain.low is not None and certain.high is not None
    assert 0.12 < certain.low <= 0.2 and 0.8 <= certain.high < 0.88
    new_scores, new_labels = _answers(100_000, seed=1)
    for selected, label in ((new_scores <= certain.low, 0), (new_scores >= certain.high, 1)):
        assert (new_labels[selected] != label).mean() <= MAX_ERROR


def test_the_bound_fails_in_at_most_one_fit_of_twenty() -> None:
    exceeds = []
    for seed in range(200):
        scores, labels = _answers(400, seed)
        high = fit_certain_scores(["names"] * 400, scores, labels, np.arange(400))["names"].high
        # The true error from `high` on is (1 - high) / 2.
        exceeds.append(high is not None and (1 - high) / 2 > MAX_ERROR)
    assert np.mean(exceeds) <= 0.05 + 0.03


def test_kinds_have_scores_of_their_own_and_useless_ones_none() -> None:
    generator = np.random.default_rng(0)
    kinds = ["numbers"] * 200 + ["sentences"] * 200
    scores = np.concatenate([np.tile([0.1, 0.9], 100), generator.uniform(0, 1, 200)])
    labels = np.concatenate([np.tile([0.0, 1.0], 100), generator.integers(0, 2, 200)])
    certain = fit_certain_scores(kinds, scores, labels, np.arange(400))
    assert certain == {"numbers": CertainScores(0.1, 0.9), "sentences": CertainScores(None, None)}


def test_answers_of_one_source_count_as_one_where_they_err_together() -> None:
    """300 right verdicts are certain if they are independent, and not if they come from two sources of which each is all right."""
    scores, labels = np.full(300, 0.9), np.ones(300)
    kinds = ["names"] * 300
    assert fit_certain_scores(kinds, scores, labels, np.arange(300))["names"].high == 0.9
    assert fit_certain_scores(kinds, scores, labels, np.arange(300) % 2)["names"].high is None


def test_too_few_answers_are_never_certain() -> None:
    n = FIRST_ROWS - 1
    certain = fit_certain_scores(["names"] * n, np.full(n, 0.99), np.ones(n), np.arange(n))
    assert certain["names"] == CertainScores(None, None)


def test_equal_scores_have_one_verdict() -> None:
    """100 answers score .9, the first 70 of them right: the threshold may not separate them from the 30 wrong ones."""
    labels = np.array([1.0] * 70 + [0.0] * 30)
    assert fit_certain_scores(["names"] * 100, np.full(100, 0.9), labels, np.arange(100))["names"].high is None


def test_few_rows_of_a_kind_share_the_scores_of_all() -> None:
    n = 160
    texts = [(f"Question {i}?", ["Paris"], "Paris" if i % 2 else "Rome") for i in range(n)]
    scores, labels = np.tile([0.05, 0.95], n // 2), np.tile([0.0, 1.0], n // 2)
    questions = [question for question, _, _ in texts]
    certain = fit_own_certain_scores(texts, scores, labels, questions, 0.5)
    assert certain == {"names": CertainScores(0.05, 0.95), ANY_KIND: CertainScores(0.05, 0.95)}
    few = fit_own_certain_scores(texts[:140], scores[:140], labels[:140], questions[:140], 0.5)
    assert list(few) == [ANY_KIND]
    assert is_certain(few, "names", 0.96, is_correct=True) is True


@pytest.mark.parametrize(
    ("kind", "score", "is_correct", "expected"),
    [
        ("names", 0.9, True, True),
        ("names", 0.89, True, False),
        ("names", 0.05, False, True),
        ("names", 0.3, False, False),
        # With another threshold, a score that is high enough may mean incorrect.
        ("names", 0.95, False, False),
        ("sentences", 0.99, True, False),
        ("sentences", 0.01, False, True),
        ("code", 0.99, True, False),
    ],
)
def test_is_certain(kind: str, score: float, is_correct: bool, expected: bool) -> None:
    certain = {"names": CertainScores(0.1, 0.9), "sentences": CertainScores(0.02, None)}
    assert is_certain(certain, kind, score, is_correct=is_correct) is expected


def test_a_judge_that_was_not_measured_makes_no_claim() -> None:
    assert is_certain({}, "names", 1.0, is_correct=True) is None


def test_recalibration_moves_the_scores_with_the_logits() -> None:
    moved = CertainScores(0.5, None).rescale(2.0, 1.0)
    assert moved == CertainScores(pytest.approx(1 / (1 + np.exp(-1))), None)
    assert CertainScores(0.0, 1.0).rescale(0.5, 1.0) == CertainScores(0.0, 1.0)
