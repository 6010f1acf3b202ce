"""The range of an accuracy: uncertain verdicts count as incorrect at one end and as correct at the other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.statistics.accuracy_range import MAX_UNCERTAIN, accuracy_range


def test_the_example_of_the_docs() -> None:
    """1,000 answers, 187 called correct, 530 uncertain verdicts of which 77 are correct ones."""
    correct = np.repeat([True, False], [187, 813])
    uncertain = np.concatenate([np.arange(187) < 77, np.arange(813) < 453])
    result = accuracy_range(correct, uncertain, np.ones(1000))
    assert result == pytest.approx((0.47, 0.11, 0.64)) and result.uncertain == pytest.approx(0.53)


def test_without_a_claim_or_with_few_uncertain_verdicts_there_is_no_range() -> None:
    none = accuracy_range([True, False], [False, False], [False, False])
    assert all(map(math.isnan, none))
    fifth = accuracy_range([True] * 5, [True] + [False] * 4, [True] * 5)
    assert fifth.certain == 1 - MAX_UNCERTAIN and math.isnan(fifth.low) and math.isnan(fifth.high)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1))
def test_the_range_contains_the_accuracy_whatever_the_truth_of_uncertain_verdicts(rows: list[tuple[bool, bool, bool]]) -> None:
    correct, uncertain, truth_of_uncertain = map(np.array, zip(*rows, strict=True))
    result = accuracy_range(correct, uncertain, np.ones(len(rows)))
    true_accuracy = np.where(uncertain, truth_of_uncertain, correct).mean()
    if uncertain.mean() > MAX_UNCERTAIN:
        assert result.low <= true_accuracy <= result.high and result.low <= correct.mean() <= result.high
        assert result.high - result.low == pytest.approx(result.uncertain)
    else:
        assert math.isnan(result.low)
