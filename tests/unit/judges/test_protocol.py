"""Labels of scores."""

import math

import pytest

from bert_judge.judges.protocol import NOT_A_NUMBER, decided


@pytest.mark.parametrize(("score", "verdict"), [(0.0, "incorrect"), (0.49, "incorrect"), (0.5, "correct"), (1.0, "correct")])
def test_a_score_is_correct_from_the_threshold_on(score: float, verdict: str) -> None:
    assert (decided(score).verdict, decided(score).score) == (verdict, score)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_a_number_is_invalid(score: float) -> None:
    label = decided(score, 0.5, raw="{}", aspects={"clarity": score})
    assert (label.verdict, label.score, label.reason, label.aspects) == ("invalid", None, NOT_A_NUMBER, None)
