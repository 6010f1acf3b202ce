"""Verdicts of the rules by name on answers that other evaluators misjudge: own rows, and rows of a folder beside the data."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from named_rules import label

from bert_judge.labels.judge_loading import RULES

WORDS = ("exact_match", "contains")
MATH = ("math_verify",)
ALL = tuple(RULES)

# Rules, references, candidate, verdicts that are right.
SYMBOLS = [
    (WORDS, ["C++"], "C#", "incorrect"),
    (WORDS, ["F#"], "F", "incorrect"),
    (WORDS, ["B+"], "B-", "incorrect"),
    (WORDS, ["Cl-"], "Cl", "incorrect"),
    (WORDS, ["p → q"], "p ↔ q", "incorrect"),
    (WORDS, ["x < 3"], "x > 3", "incorrect"),
    (WORDS, ["$5"], "€5", "incorrect"),
    (("contains",), ["C++"], "It is C++.", "correct"),
    (WORDS, ["Hepatitis A"], "Hepatitis B", "incorrect"),
    (WORDS, ["Hepatitis A"], "hepatitis a", "correct"),
    (WORDS, ["Once Upon a Time"], "Once Upon A Time", "correct"),
    (MATH, ["\\frac{2}{3}"], "\\boxed{-\\frac{2}{3}}", "incorrect"),
    (MATH, ["2-\\sqrt{3}"], "\\boxed{2+\\sqrt{3}}", "incorrect"),
    (MATH, ["[0,7)"], "\\boxed{[0,7]}", "incorrect"),
    (MATH, ["|x|"], "\\boxed{x}", "incorrect"),
    (MATH, ["f'(x)"], "f(x)", "incorrect"),
]
WHOLE_ANSWERS = [
    (MATH, ["\\frac{\\pi}{6}"], "\\frac{\\pi}{6}", "correct"),
    (MATH, ["2^8"], "$2^8$", "correct"),
    (MATH, ["(1, -2)"], "The point is $(1, -2)$.", "correct"),
    (MATH, ["3, 5, and 7"], "The primes are 3, 5, and 7.", "correct"),
    (MATH, ["3, 5, and 7"], "The primes are 2, 5, and 7.", "incorrect"),
    (MATH, ["12"], "She has 3 x 4 = 12 apples", "correct"),
    (ALL, ["2 + 3 = 5\n#### 5"], "The answer is 5.", "correct"),
    (ALL, ["So it is $\\boxed{42}$."], "42", "correct"),
    (WORDS, ["The answer is Rome."], "Rome", "correct"),
]
NUMBERS = [
    (MATH, ["75\\%"], "3/4", "correct"),
    (MATH, ["0.1"], "10 percent", "correct"),
    (MATH, ["\\frac{\\pi}{3}"], "pi/3", "correct"),
    (MATH, ["3\\sqrt{2}"], "The answer is 3√2.", "correct"),
    (MATH, ["\\frac{7}{2}"], "3 1/2", "correct"),
    (MATH, ["3.5"], "3½", "correct"),
    (MATH, ["6 \\times 10^{23}"], "6e23", "correct"),
    (MATH, ["2000000"], "2 million", "correct"),
    (MATH, ["-8"], "negative eight", "correct"),
    (MATH, ["8"], "negative 8", "incorrect"),
    (MATH, ["42"], "forty-two", "correct"),
    (MATH, ["3/8"], "3 out of 8", "correct"),
    (MATH, ["8"], "The answer is 3 out of 8.", "incorrect"),
    (MATH, ["1.6 \\times 10^{-19}"], "9.1e-31", "incorrect"),
    (MATH, ["x^3"], "x³", "correct"),
    (MATH, ["[2,\\infty)"], "x >= 2", "correct"),
    (MATH, ["x \\ge 2"], "$[2,\\infty)$", "correct"),
    (MATH, ["x \\equiv 3 \\pmod{5}"], "x ≡ 3 (mod 5)", "correct"),
    (MATH, ["x \\equiv 3 \\pmod{5}"], "x ≡ 2 (mod 5)", "incorrect"),
    (("exact_match", "contains", "math_verify"), ["007"], "7", "correct"),
    (("exact_match", "contains", "math_verify"), ["1,23,456"], "123456", "correct"),
    (MATH, ["12 \\text{ cm}"], "12 centimeters", "correct"),
]
NAMES = [
    (WORDS, ["C. S. Lewis"], "C.S. Lewis", "correct"),
    (WORDS, ["Johnson & Johnson"], "Johnson and Johnson", "correct"),
    (WORDS, ["July 4, 1776"], "July 4th, 1776", "correct"),
    (WORDS, ["the nineteenth century"], "19th century", "correct"),
    (WORDS, ["forty"], "40", "correct"),
    (WORDS, ["World War II"], "World War 2", "correct"),
    (WORDS, ["Super Bowl 59"], "Super Bowl LIX", "correct"),
    (WORDS, ["World War II"], "World War III", "incorrect"),
    (WORDS, ["Malcolm X"], "Malcolm 10", "incorrect"),
    (WORDS, ["120 m²"], "120 m2", "correct"),
    (WORDS, ["120 m²"], "120 m^2", "correct"),
    (WORDS, ["x²"], "x2", "incorrect"),
    (WORDS, ["5kg"], "5 kg", "correct"),
    (WORDS, ["1.5 million"], "1,500,000", "correct"),
    (WORDS, ["New\u200b York"], "New York", "correct"),
    (WORDS, ["H₂O"], "H2O", "correct"),
]
EMPTY = [(ALL, ["Rome"], candidate, "incorrect") for candidate in ("", " \n", "...")]
SCRIPTS = [
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["北京市"], "北京", "correct"),
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["東京タワー"], "大阪城", "incorrect"),
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["ភ្នំពេញ"], "ភ្នំពេញ", "correct"),
]


@pytest.mark.parametrize(
    ("rule", "references", "candidate", "verdicts"),
    [(rule, *row) for rules, *row in (*SYMBOLS, *WHOLE_ANSWERS, *NUMBERS, *NAMES, *EMPTY, *SCRIPTS) for rule in rules],
)
def test_verdicts_of_rules(rule: str, references: list[str], candidate: str, verdicts: str) -> None:
    found = label(rule, references, candidate)
    assert found.verdict in verdicts.split("|"), found


def case_rows() -> list[tuple[str, str, dict[str, object]]]:
    """Return rule, folder and row of the cases beside the data; a folder's README names the judges of its commands."""
    data = os.environ.get("BERT_JUDGE_DATA")
    rows = []
    for path in sorted(Path(data).parent.glob("cases/*/input.jsonl")) if data else []:
        rules = dict.fromkeys(re.findall(r"--judge (\w+)", path.with_name("README.md").read_text("utf-8")))
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            if {"references", "candidate", "right_verdict"} <= row.keys() and isinstance(row["references"], list):
                rows += [(rule, path.parent.name, row) for rule in rules if rule in RULES]
    return rows


@pytest.mark.parametrize(("rule", "folder", "row"), case_rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_cases_beside_the_data(rule: str, folder: str, row: dict[str, object]) -> None:
    found = label(rule, list(map(str, row["references"])), str(row["candidate"]), str(row.get("question", "")))  # type: ignore[call-overload]
    assert found.verdict in str(row["right_verdict"]).split("|"), found
