"""Counts of the verdicts in a file."""

import numpy as np

from bert_judge.judges.protocol import Label, decided
from bert_judge.labels.score_file import Tally


def test_a_column_of_categories_may_have_a_value_per_row() -> None:
    names = [f"group {number}" for number in range(33_000)]
    labels: list[Label | None] = [decided(1.0, 0.5)] * len(names)
    tally = Tally(["contains"])
    tally.add(names, names, [None] * len(names), [labels], groups=names)
    assert len(tally.groups) == len(tally.models) == len(names)
    assert tally.rows == len(names)


def test_accuracies_by_labels_are_those_of_labelled_rows_that_the_judge_has_not_seen() -> None:
    """Rows with a label: three of `a`, of which the judge has seen one, and one of `b`."""
    labels: list[Label | None] = [decided(score, 0.5) for score in (1.0, 0.0, 1.0, 1.0, 0.0)]
    tally = Tally(["j"])
    seen = [np.array([False, False, True, False, False])]
    tally.add(["a", "a", "a", "a", "b"], ["?"] * 5, [0.0, 0.0, 0.0, None, 1.0], [labels], groups=[""] * 5, seen=seen)
    assert list(tally.label_accuracies()) == [("j", {"a": (0.0, 0.5), "b": (1.0, 0.0)})]
