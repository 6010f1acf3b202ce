"""Answers that attempt nothing: refusals and "I don't know" in many languages, and what only looks like them."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from bert_judge.text.abstention import is_attempted, states_no_answer
from bert_judge.text.reading import Task
from bert_judge.text.rules.whole_answer import decide_no_answer

ANSWERS = json.loads(Path(__file__).with_name("abstention.json").read_text("utf-8"))


@pytest.mark.parametrize("answer", ANSWERS["not_attempted"])
def test_declines(answer: str) -> None:
    assert not is_attempted("Who?", ["Paris"], answer)


@pytest.mark.parametrize("answer", ANSWERS["attempted"])
def test_attempts(answer: str) -> None:
    assert is_attempted("Who?", ["Paris"], answer)


@pytest.mark.parametrize(
    "reference", ["unanswerable", "Not mentioned", "None", "I can't help with that.", "文中未提及", "Im Text nicht angegeben"]
)
def test_declining_answers_a_question_without_an_answer(reference: str) -> None:
    assert states_no_answer(reference)
    assert is_attempted("Who?", [reference], "I don't know.")
    assert not is_attempted("Who?", [reference], "")


@pytest.mark.parametrize(
    "reference", ["Paris", "42", "no", "unknown soldier", "Na", "He did not know the way.", "The year is not 1950 but 1951."]
)
def test_references_with_an_answer(reference: str) -> None:
    assert not states_no_answer(reference)


@pytest.mark.parametrize(
    ("question", "reference", "answer", "verdict"),
    [
        ("What is the symbol of sodium?", "Na", "The symbol is Na.", None),
        ("What is the symbol of sodium?", "Na", "It is K.", None),
        ("What is the country code of Namibia?", "NA", "It is NA.", None),
        ("What is the country code of Namibia?", "NA", "Na", None),
        ("Where was he born?", "NA", "In Rome", False),
        ("Where was he born?", "n/a", "I don't know.", True),
        ("Where was he born?", "N/A", "Not mentioned", True),
    ],
)
def test_a_symbol_is_no_missing_answer(question: str, reference: str, answer: str, verdict: bool | None) -> None:
    decision = decide_no_answer(Task(question, (reference,)), answer)
    assert (decision and decision.correct) == verdict


def test_an_option_that_declines_is_an_option() -> None:
    question = "What follows?\n(A) It rains.\n(B) It does not rain.\n(C) Cannot be determined"
    assert is_attempted(question, ["A"], "(C) Cannot be determined")
    assert not is_attempted(question, ["A"], "I can't answer that.")


@pytest.mark.parametrize(
    ("text", "is_truncated", "expected"),
    [
        ("Let me think. The first number is 3 and the second", False, True),
        ("Let me think. The first number is 3", True, False),
        ("Let me think. The first number is 3. The answer is 4, because", True, True),
        ("The second number is 3 and the", True, True),
    ],
)
def test_cut_answers(text: str, is_truncated: bool, expected: bool) -> None:
    if text.endswith("second"):
        # A noun may end a sentence.
        assert is_attempted("", ["4"], text) and not is_attempted("", ["4"], text, is_truncated=True)
    assert is_attempted("", ["4"], text, is_truncated=is_truncated) == expected


@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="needs the answers with labels")
def test_rates_on_answers_that_people_called_not_attempted() -> None:
    """Czech SimpleQA: 1,973 answers of five models with the grades of SimpleQA's grader, C for not attempted."""
    rows = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / "simpleqa_czech.parquet")
    texts = zip(rows["question"], rows["references"], rows["candidate"], strict=True)
    declined = pd.Series([not is_attempted(question, list(references), text) for question, references, text in texts])
    is_null = (rows["grade"] == "C").reset_index(drop=True)
    assert declined[is_null].mean() > 0.88
    assert is_null[declined].mean() > 0.94
    assert declined[~is_null].mean() < 0.015
