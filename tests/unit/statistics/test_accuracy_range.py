"""The range of an accuracy: uncertain verdicts count as incorrect at one end and as correct at the other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.statistics.accuracy_range import MAX_UNCERTAIN, AccuracyRange, accuracy_range, open_pairs


def test_the_example_of_the_docs() -> None:
    """1,000 answers, 187 called correct, 530 uncertain verdicts of which 77 are correct ones."""
    correct = np.repeat([True, False], [187, 813])
    uncertain = np.concatenate([np.arange(187) < 77, np.arange(813) < 453])
    result = accuracy_range(correct, uncertain, np.ones(1000))
    assert result == pytest.approx((0.187, 0.47, 0.11, 0.64)) and result.is_wide and result.uncertain == pytest.approx(0.53)


def test_without_a_claim_there_is_no_range() -> None:
    none = accuracy_range([True, False], [False, False], [False, False])
    assert none.accuracy == 0.5 and all(map(math.isnan, none[1:])) and not none.is_wide
    assert open_pairs({"a": none, "b": none}) == []


def test_a_range_is_wide_above_a_fifth() -> None:
    fifth = accuracy_range([True] * 5, [True] + [False] * 4, [True] * 5)
    assert fifth == pytest.approx((1.0, 1 - MAX_UNCERTAIN, 0.8, 1.0)) and not fifth.is_wide
    assert accuracy_range([True] * 4, [True] + [False] * 3, [True] * 4).is_wide


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Four of 20 uncertain: no more than a fifth.
        ((0.6, 0.8, 0.6, 0.8), (0.7, 1.0, 0.7, 0.7), [("b", "a")]),
        ((0.95, 0.95, 0.91, 0.95), (0.8, 0.9, 0.75, 0.85), []),
        # At the worst they are equal, or less than 5 points apart.
        ((0.9, 0.95, 0.85, 0.9), (0.8, 0.9, 0.75, 0.85), [("a", "b")]),
        ((0.94, 0.95, 0.89, 0.94), (0.8, 0.9, 0.75, 0.85), [("a", "b")]),
        # Certain verdicts may be wrong, too.
        ((0.9, 1.0, 0.9, 0.9), (0.86, 1.0, 0.86, 0.86), [("a", "b")]),
        ((0.9, 1.0, 0.9, 0.9), (0.84, 1.0, 0.84, 0.84), []),
        # The same accuracy: certain of both models, or open for either.
        ((0.7, 1.0, 0.7, 0.7), (0.7, 1.0, 0.7, 0.7), []),
        ((0.7, 0.9, 0.6, 0.7), (0.7, 1.0, 0.7, 0.7), [("a", "b")]),
        ((0.7, 0.9, 0.7, 0.8), (0.7, 1.0, 0.7, 0.7), [("a", "b")]),
    ],
)
def test_pairs_that_uncertain_verdicts_leave_open(
    first: tuple[float, ...], second: tuple[float, ...], expected: list[tuple[str, str]]
) -> None:
    assert open_pairs({"a": AccuracyRange(*first), "b": AccuracyRange(*second)}) == expected


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1))
def test_the_range_contains_the_accuracy_whatever_the_truth_of_uncertain_verdicts(rows: list[tuple[bool, bool, bool]]) -> None:
    correct, uncertain, truth_of_uncertain = map(np.array, zip(*rows, strict=True))
    result = accuracy_range(correct, uncertain, np.ones(len(rows)))
    true_accuracy = np.where(uncertain, truth_of_uncertain, correct).mean()
    assert result.low <= true_accuracy <= result.high and result.low <= correct.mean() <= result.high
    assert result.accuracy == correct.mean() and result.high - result.low == pytest.approx(result.uncertain)
