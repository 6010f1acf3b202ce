"""Edits between a reference and an answer that repeats most of it."""

import pytest

from bert_judge.text.edits import MAX_COUNT, NO_EDITS, Edits, count_edits
from bert_judge.text.features import FEATURE_NAMES, extract_features

REFERENCE = "In May, Anna Seghers sold 7 big houses in Berlin to Thomas Mann, who wasn't there."


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", NO_EDITS),
        ("7", "seven", NO_EDITS),
        ("Anna", "ANNA", NO_EDITS),
        ("7", "8", Edits(1, changed_numbers=1)),
        ("7 big", "big", Edits(1)),
        ("big", "7 big", Edits(1)),
        ("big", "12 big", Edits(1, changed_numbers=1)),
        ("wasn't", "was", Edits(1, changed_polarity=1)),
        ("wasn't", "was not", NO_EDITS),
        ("wasn't", "was never", Edits(1)),
        ("big", "small", Edits(1, changed_polarity=1)),
        ("big", "not small", Edits(1, changed_words=1)),
        ("wasn't there", "was absent or not there", Edits(1)),
        ("May", "June", Edits(1, changed_polarity=1)),
        ("Berlin", "Paris", Edits(1, changed_names=1)),
        ("sold", "showed", Edits(1, changed_words=1)),
        ("big houses", "houses", Edits(1)),
        ("big houses", "big houses, it is said,", Edits(1)),
        ("houses in Berlin", "in Berlin houses", Edits(1, moved_words=1)),
    ],
)
def test_kinds_of_edits(old: str, new: str, expected: Edits) -> None:
    assert count_edits(REFERENCE, REFERENCE.replace(old, new, 1)) == expected


def test_counts_are_bounded() -> None:
    numbers = [" and ".join(f"word {n + shift} stays" for n in range(20)) for shift in (0, 100)]
    assert count_edits(*numbers) == Edits(1, changed_numbers=MAX_COUNT)


@pytest.mark.parametrize(
    ("reference", "answer", "is_edited"),
    [
        (REFERENCE, REFERENCE.replace("big", "small"), 1),
        (REFERENCE, REFERENCE, 0),
        (REFERENCE, "Anna Seghers sold 7 houses.", 0),
        (REFERENCE, f"{REFERENCE} " + "That was a long time ago, and nobody remembers why it happened in that very place.", 0),
        ("Anna Seghers", "Anna Magnani", 0),
        (REFERENCE, "", 0),
    ],
)
def test_only_answers_that_repeat_most_of_the_reference_have_edits(reference: str, answer: str, is_edited: int) -> None:
    features = dict(zip(FEATURE_NAMES, extract_features("Who?", [reference], answer), strict=True))
    assert features["is_edited"] == is_edited
    assert is_edited or not any(features[name] for name in Edits._fields)
