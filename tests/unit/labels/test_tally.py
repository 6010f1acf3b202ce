"""Counts of the verdicts in a file."""

from bert_judge.judges.protocol import Label, decided
from bert_judge.labels.score_file import Tally


def test_a_column_of_categories_may_have_a_value_per_row() -> None:
    names = [f"group {number}" for number in range(33_000)]
    labels: list[Label | None] = [decided(1.0, 0.5)] * len(names)
    tally = Tally(["contains"])
    tally.add(names, names, [None] * len(names), [labels], groups=names)
    assert len(tally.groups) == len(tally.models) == len(names)
    assert tally.rows == len(names)
