"""The wording of short references: opposites and bounds."""

import pytest

from bert_judge.text.rules import decide


@pytest.mark.parametrize(
    ("reference", "answer", "correct"),
    [
        ("more than 100", "over 100", True),
        ("at least 18 years", "18 years or more", True),
        ("at least 18", "under 18", False),
        ("at least 80%", "a minimum of 80 percent", True),
        ("at least 80%", "Eighty percent minimum.", True),
        ("at least 80%", "a maximum of 80 per cent", False),
        ("at least 80%", "at least 80 kg", None),
        ("at least 80%", "at a minimum 80%", True),
        ("more than -3%", "over 3 percent", None),
        ("more than -3%", "over -3 percent", True),
        ("true", "It is true.", None),
        (
            "Microsoft sued the small firm Lindows over its name in 2001.",
            "The small firm Lindows sued Microsoft over its name in 2001.",
            None,
        ),
    ],
)
def test_bounds_of_a_number(reference: str, answer: str, correct: bool | None) -> None:
    decision = decide("Which?", [reference], answer)
    bound = decision if decision and decision.module == "opposite" else None
    assert (bound.correct if bound else None) == correct


def test_true_is_a_word_with_an_opposite() -> None:
    decision = decide("Which?", ["clearly true"], "clearly false")
    assert decision and (decision.correct, decision.module) == (False, "opposite")
