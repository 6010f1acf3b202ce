"""Lexical features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.text.features import FEATURE_NAMES, extract_features, feature_table

CHOICE = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus"


def named_features(question: str, references: list[str], candidate: str) -> dict[str, float]:
    return dict(zip(FEATURE_NAMES, extract_features(question, references, candidate), strict=True))


@pytest.mark.parametrize(
    ("question", "references", "candidate", "name", "expected"),
    [
        ("Capital?", ["Paris"], "It is Paris.", "contained", 1),
        ("Capital?", ["Paris"], "It is Parisian.", "contained", 0),
        ("Capital?", ["Paris"], "Paris", "same", 1),
        ("Who?", ["Beyoncé Knowles"], "beyonce", "contained_in", 1),
        ("Who?", ["Mac Donald"], "MacDonald", "run_together", 1),
        ("Who?", ["Tchaikovsky"], "It was Tchaikovski", "recall", pytest.approx(0.9)),
        ("Who?", ["Brahms"], "It was Liszt", "recall", 0),
        ("When?", ["12 May 1999"], "in May 1999, the 12th", "years", 1),
        ("When?", ["1999"], "in 1998", "years", -1),
        ("When?", ["1999"], "long ago", "years", -0.5),
        ("How many?", ["12"], "There are twelve.", "numbers", 1),
        ("How many?", ["12"], "Final answer: 13", "last_number", -1),
        ("How many?", ["1,200"], "so 3 * 400 = 1200", "last_number", 1),
        ("Who?", ["Brahms"], "7", "last_number", 0),
        ("Capital?", ["Paris"], "Lyon? No.\nFinal answer: Paris", "final_answer", 1),
        ("Capital?", ["Paris"], "Paris? No.\nFinal answer: Lyon", "final_answer", -1),
        ("Capital?", ["Paris"], "Paris", "final_answer", 0),
        (CHOICE, ["B", "Jupiter"], "The answer is (B).", "choice", 1),
        (CHOICE, ["B", "Jupiter"], "The answer is (C).", "choice", -1),
        (CHOICE, ["B", "Jupiter"], "Mars, Jupiter and Venus", "options_mentioned", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "negations", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "hedges", 1),
        ("Capital?", ["Paris", "City of Light"], "x", "references", pytest.approx(np.log(2))),
        ("Capital?", ["Paris"], "Paris or Rome", "alternative_near", 1),
        ("Capital?", ["Paris"], "Paris it is", "alternative_near", 0),
        ("Capital?", ["Paris"], "It is not Paris", "denied_before", 1),
        ("Capital?", ["Paris"], "Paris? That is wrong.", "denied_behind", 1),
        ("Capital?", ["Paris"], "Paris. No, sorry, it is Rome.", "retractions_behind", 2),
        ("Capital?", ["Paris"], "Rome? No, that is wrong. Paris.", "retractions_before", 2),
        ("Capital?", ["Paris"], "Rome", "words_before", 0),
        ("Capital?", ["Paris"], "It is surely Paris", "words_before", pytest.approx(np.log(4))),
        ("Capital?", ["Paris"], "Paris, not Rome", "rejected_behind", 1),
        ("Capital?", ["Paris"], "Paris. In Rome there is not one.", "rejected_behind", 0),
        ("Capital?", ["Paris"], "Paris – no, sorry, Rome", "corrected_behind", 2),
        ("Capital?", ["Paris"], "Some say Paris, others Rome", "divided", 2),
        ("Capital?", ["Paris"], "Rome, Oslo, Paris or Bonn", "parts_beside", 3),
        ("Capital?", ["Paris"], "Rome/Paris", "parts_beside", 1),
        ("Capital?", ["Paris"], "Paris", "parts_beside", 0),
        ("Capital?", ["Paris"], "Paris\n" + "Rome\n" * 40, "parts_beside", 6),
        ("Capital?", ["Paris"], "Let us see whether Paris is the", "unfinished", 1),
        ("Capital?", ["Paris"], "I see that it is Paris.", "unfinished", 0),
        ("Capital?", ["Paris"], "Rome, Oslo, or the", "unfinished", 0),
        ("Capital?", ["Paris"], "Paris" + " and so on" * 600, "contained", 1),
        ("Language?", ["C++"], "C", "contained_in", 0),
        ("Language?", ["C++"], "C", "identical", 0),
        ("Language?", ["C++"], "**C++**", "identical", 1),
        ("Value?", ["x+1"], "x-1", "symbols", -1),
        ("Value?", ["x+1"], "So we get \\boxed{x+1}", "symbols", 1),
        ("Value?", ["\\frac{1}{2}"], "\\boxed{-\\frac{1}{2}}", "final_answer", -1),
        ("Value?", ["-\\infty"], "\\boxed{\\infty}", "contained", 0),
        ("Value?", ["(2,5)"], "The answer is [2,5].", "symbols", -1),
        ("Value?", ["1/2"], "\\boxed{0.5}", "last_number", 1),
        ("Value?", ["\\frac{1}{2}"], "-0.5", "last_number", -1),
        ("Value?", ["3 + 4 = 7\n#### 7"], "It is 7.", "last_number", 1),
        ("Capital?", ["The answer is Paris."], "Paris", "identical", 1),
        ("Capital?", ["Paris"], "Paris!", "symbols", 0),
        ("首都は?", ["東京"], "答えは東京です", "contained", 1),
        ("Capital?", ["Paris"], "<think>Paris</think>Lyon", "contained", 0),
    ],
)
def test_features(question: str, references: list[str], candidate: str, name: str, expected: float) -> None:
    assert named_features(question, references, candidate)[name] == expected


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3), st.text(max_size=80))
def test_any_text_has_finite_features(question: str, references: list[str], candidate: str) -> None:
    row = extract_features(question, references, candidate)
    assert len(row) == len(FEATURE_NAMES) and np.isfinite(row).all()


def test_a_long_answer_keeps_its_end() -> None:
    assert named_features("Capital?", ["Paris"], "x " * 500_000 + "Paris")["contained"] == 1


def test_feature_table_of_no_rows() -> None:
    assert feature_table([], [], []).shape == (0, len(FEATURE_NAMES))
