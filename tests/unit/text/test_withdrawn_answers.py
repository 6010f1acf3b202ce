"""Answers that are taken back behind the value decide nothing."""

import pytest

from bert_judge.text.rules import decide

WITHDRAWN = [
    ("Which state?", "Maharashtra", "Answer: Maharashtra\n\nEdit: the above is wrong, please disregard it."),
    ("When?", "1923", "One thing is sure: 1923 is wrong."),
    ("When?", "early 2014", "early 2014. Wait, that's wrong. It is 23."),
    ("How many?", "42", "Final answer: 42. Correction: 45."),
    ("Which option?\nA) one\nB) two", "A", "A. No wait, that was a mistake."),
]
GIVEN = [
    ("Which state?", "Maharashtra", "Answer: Maharashtra"),
    ("When?", "1923", "It was in 1923."),
    ("How many?", "42", "Final answer: 42"),
]


@pytest.mark.parametrize(("question", "reference", "answer"), WITHDRAWN)
def test_a_withdrawn_answer_is_not_accepted(question, reference, answer):
    decision = decide(question, [reference], answer)
    assert decision is None or not decision.correct


@pytest.mark.parametrize(("question", "reference", "answer"), GIVEN)
def test_an_answer_that_stands_is_accepted(question, reference, answer):
    decision = decide(question, [reference], answer)
    assert decision is not None and decision.correct
