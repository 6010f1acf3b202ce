"""What an answer says is not the answer."""

import pytest

from bert_judge.text.answer_text import MAX_DISMISSING_CHARACTERS, read_answer, strip_dismissals
from bert_judge.text.rules import decide

SHORTENED = [
    ("**Paris** (not Lyon).", "**Paris**."),
    ("Paris, not Lyon", "Paris"),
    ("It is Paris, not Lyon. It has been so since 987.", "It is Paris. It has been so since 987."),
    ("The capital is Paris and not Lyon.", "The capital is Paris."),
    ("156.0 rather than 154.0", "156.0"),
    ("I'd go with 117, since 119 does not work.", "I'd go with 117."),
    ("It is Paris. Lyon would be wrong.", "It is Paris."),
    ("So we get **D) Lesotho**. (C) Senegal would be wrong.", "So we get **D) Lesotho**."),
    ("Unlike Lyon, Paris is the capital.", "Paris is the capital."),
    ("It is neither 1948 nor 1994. It is 1949.", "It is 1949."),
    ("It is easily mixed up with H. G. Wells. My answer: Mozart", "My answer: Mozart"),
    ("Do not confuse this with 17.60. It is 27.60.", "It is 27.60."),
    ("42. The other numbers, 40 and 44, are wrong.", "42."),
    ("B) Rome. All others are incorrect.", "B) Rome."),
    ("Paris (Lyon would be wrong)", "Paris"),
    ("Paris. Had it been Italy, Rome would have been right.", "Paris."),
]
KEPT = [
    "It is not Paris.",
    "Paris, not sure.",
    "Paris, not only in summer",
    "Lyon would be wrong.",
    "He stayed, since he does not work.",
    "Paris might be right.",
    "The answer is E (Not possible).",
    "The claim is wrong. It was made in 1949.",
    "He did not go to Paris. He stayed in Lyon.",
    "The other answers are wrong.",
    "### Answer\nParis anything like Lyon is far off.",
    "He took two. The others are wrong about him.",
    "Good question! > 55 56 would be wrong.",
]


@pytest.mark.parametrize(("text", "expected"), SHORTENED)
def test_removes_what_only_dismisses_another_answer(text: str, expected: str) -> None:
    assert strip_dismissals(["a reference"], text).strip() == expected


@pytest.mark.parametrize("text", KEPT)
def test_keeps_what_states_or_doubts_an_answer(text: str) -> None:
    assert strip_dismissals(["a reference"], text) == text


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("guilty, not insane", "guilty, not insane"),
        ("x" * 101, "Paris, not Lyon"),
        ("Paris", "Paris, not Lyon. " + "x" * MAX_DISMISSING_CHARACTERS),
    ],
)
def test_keeps_long_texts_and_what_the_reference_dismisses(reference: str, text: str) -> None:
    assert strip_dismissals([reference], text) == text


@pytest.mark.parametrize(("candidate", "correct"), [("1949 (not 1948).", True), ("1948 rather than 1949", False)])
def test_rules_decide_about_what_is_left(candidate: str, correct: bool) -> None:
    decision = decide("In which year was NATO founded?", ["1949"], candidate)
    assert decision is not None and decision.correct is correct


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("104", "- 104 I hope this helps!", "104 I hope this helps!"),
        ("104", "The sum:\n- 104", "The sum:\n104"),
        ("-104", "- 104", "- 104"),
        ("104", "-104", "-104"),
        ("104", "x - 104", "x - 104"),
    ],
)
def test_the_mark_of_a_list_is_no_minus_sign(reference: str, candidate: str, expected: str) -> None:
    assert read_answer("What is the sum?", [reference], candidate) == expected
