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
    (WORDS, ["A minor"], "E minor", "incorrect"),
    (WORDS, ["Vitamin A (retinol)"], "Vitamin (retinol)", "incorrect"),
    (WORDS, ["ab-c"], "abc", "incorrect"),
    (WORDS, ["2-sqrt(3)"], "2sqrt(3)", "incorrect"),
    (ALL, ["*p"], "p", "incorrect|invalid"),
    (ALL, ["p"], "*p", "incorrect|invalid"),
    (ALL, ["p"], "**p**", "correct"),
    (ALL, ["*p"], "Final answer: `*p`", "correct"),
    (WORDS, ["int *p"], "int p", "incorrect"),
    (WORDS, ["**kwargs"], "*kwargs", "incorrect"),
    (WORDS, ["yes"], "The answer is **yes, because it rains**.", "correct"),
    (("contains",), ["Paris"], "The capital is **Paris", "correct"),
    (MATH, ["\\frac{2}{3}"], "\\boxed{-\\frac{2}{3}}", "incorrect"),
    (MATH, ["2-\\sqrt{3}"], "\\boxed{2+\\sqrt{3}}", "incorrect"),
    (MATH, ["[0,7)"], "\\boxed{[0,7]}", "incorrect"),
    (MATH, ["|x|"], "\\boxed{x}", "incorrect"),
    (MATH, ["f'(x)"], "f(x)", "incorrect"),
]
ZEROS = [
    (WORDS, ["0.05"], "0.5", "incorrect"),
    (WORDS, ["1.05"], "1.5", "incorrect"),
    (WORDS, ["1.005"], "1.05", "incorrect"),
    (WORDS, ["00.50"], ".5", "correct"),
    (WORDS, ["05:30"], "5:30", "correct"),
    (ALL, ["Python 3.10"], "Python 3.1", "incorrect"),
    (ALL, ["version 3.1"], "version 3.10", "incorrect"),
    (WORDS, ["iOS 15.10"], "iOS 15.1", "incorrect"),
    (("contains", "math_verify"), ["Python 3.10"], "Not Python 3.1 but Python 3.10", "correct"),
    (ALL, ["3.10"], "3.1", "correct"),
    (ALL, ["pH 7.40"], "pH 7.4", "correct"),
    (MATH, ["1.20.10"], "1.20.1", "incorrect"),
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
    (WORDS, ["Final answer: The final answer is $10$. I hope it is correct."], "10", "correct"),
    (("contains",), ["Rome"], "Rome. Final answer: see above.", "correct"),
    (("contains",), ["Rome"], "Rome.\n\n**Final Answer**\n\nI hope it is correct.", "correct"),
    (("contains",), ["Rome"], "It's Rome. Thus the answer is as stated above.", "correct"),
    (("exact_match",), ["Rome"], "> Rome", "correct"),
    (("exact_match",), ["Rome"], "assistant\n\nRome", "correct"),
    (("exact_match",), ["Rome"], "Rome</answer>", "correct"),
    (("exact_match",), ["Rome"], "<correct_answer>Rome</correct_answer>", "correct"),
    (("exact_match",), ["Rome"], '{"result": "Rome"}', "correct"),
    (("exact_match",), ["Rome"], "```text\nRome\n```", "correct"),
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
    (MATH, ["1000.99"], "so the number is 10 which is 1,000.99m²", "correct"),
    (MATH, ["$(1,3)$"], "${1,3}$", "correct"),
    (MATH, ["$(1,3)$"], "$\\{1,3\\}$", "incorrect"),
    (MATH, ["12 \\text{ cm}^2"], "12 cm^2", "correct"),
    (MATH, ["\\frac{3}{4}"], "three quarters", "correct"),
    (MATH, ["\\frac{3}{4}"], "three fifths", "incorrect"),
    (MATH, ["2.5"], "two and a half", "correct"),
    (MATH, ["-\\frac{1}{2}"], "negative one half", "correct"),
    (MATH, ["50\\%"], "fifty percent", "correct"),
    (MATH, ["10"], "ten dollars", "correct"),
    (MATH, ["5"], "It is five.", "correct"),
    (MATH, ["\\sqrt{2}"], "the square root of 2", "correct"),
    (MATH, ["\\sqrt[3]{2}"], "∛2", "correct"),
    (MATH, ["\\ln 2"], "ln(2)", "correct"),
    (MATH, ["e^{2x}"], "exp(2x)", "correct"),
    (MATH, ["1:2"], "1 to 2", "correct"),
    (MATH, ["1:2"], "2 to 1", "incorrect"),
    (MATH, ["1234567"], "1.234.567", "correct"),
    (MATH, ["7"], "उत्तर: ७", "correct"),
    (MATH, ["500"], "一共500元。", "correct"),
    (MATH, ["at least 5"], "at most 5", "incorrect"),
    (MATH, ["5 am"], "5 pm", "incorrect"),
    (MATH, ["\\text{even}"], "odd", "incorrect"),
    (MATH, ["n^2 - n"], "The formula is n^2 - n", "correct"),
    (MATH, ["6"], "There are six slices left.", "correct"),
    (MATH, ["1"], "No one knows the answer.", "incorrect|invalid"),
    (MATH, ["2"], "It took two thirds of an hour.", "incorrect|invalid"),
    (MATH, ["104"], "The number is 104, not 140.", "correct"),
    (MATH, ["140"], "The number is 104, not 140.", "incorrect"),
    (MATH, ["42"], "Answer: 42 (confidence 80%)", "correct"),
    (MATH, ["720"], "The total is 720!", "correct"),
    (MATH, ["\\frac{\\pi}{4}"], "The angle is π/4 radians.", "correct"),
    (MATH, ["(3,4)"], "The vertex is at (3, 4).", "correct"),
    (MATH, ["(3,4)"], "The vertex is at (4, 3).", "incorrect"),
    (MATH, ["0.5"], "It is 50 percent.", "correct"),
    (MATH, ["6!"], "It is 6!", "correct"),
    (MATH, ["6"], "It is 6!", "correct"),
    (MATH, ["42"], "42\n\nLet me know if you have 2 more questions!", "correct"),
    (MATH, ["2024-05-06"], "2024/5/6", "correct"),
    (MATH, ["2024-05-06"], "May 7, 2024", "incorrect"),
    (MATH, ["1-\\frac{1}{e}"], "1-\\frac{1}{\\mathrm{e}}", "correct"),
    (MATH, ["1-\\frac{1}{\\mathrm{e}}"], "1+\\frac{1}{\\mathrm{e}}", "incorrect"),
    (MATH, ["2\\mathrm{i}"], "-2i", "incorrect"),
    (MATH, ["9.8 m/s^2"], "9.8", "correct"),
    (MATH, ["60 km/h"], "6 km/h", "incorrect"),
    (MATH, ["a/s"], "a", "incorrect|invalid"),
    (MATH, ["100 °C"], "100 degrees Celsius", "correct"),
    (MATH, ["20 °C"], "20 °F", "incorrect"),
    (MATH, ["2,3"], "2.3", "incorrect"),
    (MATH, ["2,3"], "3, 2", "correct"),
    (MATH, ["2,3"], "x = 2 or x = 3", "correct"),
    (MATH, ["2,5"], "5/2", "incorrect"),
    (MATH, ["2.3"], "2,3", "correct"),
    (MATH, ["0,5"], "1/2", "correct"),
    (MATH, ["1,22"], "1.22", "correct"),
    (MATH, ["2, 3, 5"], "The primes are 2, 3 and 5.", "correct"),
    (MATH, ["p \\wedge q"], "\\boxed{p \\land q}", "correct"),
    (MATH, ["p \\wedge q"], "\\boxed{p \\lor q}", "incorrect"),
    (MATH, ["x \\in A"], "\\boxed{x \\notin A}", "incorrect"),
    (MATH, ["\\emptyset"], "\\boxed{\\varnothing}", "correct"),
    (MATH, ["A \\cup B"], "\\boxed{A\\cup B}", "correct"),
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
    (WORDS, ["World War II"], "world war ii", "correct"),
    (WORDS, ["henry vi"], "Henry VI", "correct"),
    (WORDS, ["henry vi"], "Henry IV", "incorrect"),
    (WORDS, ["Xi Jinping"], "xi jinping", "correct"),
    (WORDS, ["C# minor"], "C♯ minor", "correct"),
    (("contains",), ["Paris"], "The answer is Paris, not Rome.", "correct"),
    (("contains",), ["Rome"], "The answer is Paris, not Rome.", "incorrect"),
    (WORDS, ["Malcolm X"], "Malcolm 10", "incorrect"),
    (WORDS, ["120 m²"], "120 m2", "correct"),
    (WORDS, ["120 m²"], "120 m^2", "correct"),
    (WORDS, ["x²"], "x2", "incorrect"),
    (WORDS, ["5kg"], "5 kg", "correct"),
    (WORDS, ["1.5 million"], "1,500,000", "correct"),
    (WORDS, ["New\u200b York"], "New York", "correct"),
    (WORDS, ["H₂O"], "H2O", "correct"),
    (WORDS, ["C. S. Lewis"], "C S Lewis", "correct"),
    (WORDS, ["Łódź"], "Lodz", "correct"),
    (WORDS, ["World War I"], "World War One", "correct"),
    (WORDS, ["Type I diabetes"], "Type 2 diabetes", "incorrect"),
    (WORDS, ["Jan 1"], "1st of January", "incorrect"),
    (WORDS, ["17 May 2024"], "the 17th of May, 2024", "correct"),
    (WORDS, ["Sept. 11"], "September 11", "correct"),
    (WORDS, ["Spider-Man"], "Spiderman", "correct"),
    (WORDS, ["F-16"], "F16", "correct"),
    (WORDS, ["X-ray"], "xray", "correct"),
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["Type 2 diabetes"], "Type 1 diabetes", "incorrect"),
    (WORDS, ["F-16"], "F-15", "incorrect"),
]
EMPTY = [(ALL, ["Rome"], candidate, "incorrect") for candidate in ("", " \n", "...")]
SCRIPTS = [
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["北京市"], "北京", "correct"),
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["東京タワー"], "大阪城", "incorrect"),
    (("token_f1", "rouge_l_recall", "rouge_l_f"), ["ភ្នំពេញ"], "ភ្នំពេញ", "correct"),
]
NUMBERED = "Which city is the capital of Italy? 1) Paris 2) Rome 3) Oslo"
NUMERALS = "Which city is the capital of Italy?\n(i) Paris\n(ii) Rome\n(iii) Oslo"
LETTERS = "Which city is the capital of Italy?\n<A> Paris\n<B> Rome\n<C> Oslo"
# Questions that list options, and the same.
OPTIONS = [
    *(
        (NUMBERED, ALL, ["2"], text, "correct")
        for text in ("2", "(2)", "Rome", "**2. Rome**", "I choose 2.", "Option 2 is correct")
    ),
    *((NUMBERED, ALL, ["Rome"], text, "correct") for text in ("2", "The answer is 2.", "1) Paris is wrong. 2) Rome is correct.")),
    *((NUMBERED, ALL, ["2"], text, "incorrect") for text in ("3", "(3)", "Oslo", "Answer: 1 or 2", "It is not 2 but 3.", "12")),
    *((NUMERALS, ALL, ["(ii)"], text, "correct") for text in ("ii", "(ii)", "II", "Rome", "I think it is (ii).", "II is correct")),
    *((NUMERALS, ALL, ["(ii)"], text, "incorrect") for text in ("iii", "(i)", "Oslo", "The answer is (iii).")),
    *((LETTERS, ALL, ["B"], text, "correct") for text in ("<B>", "The answer is <B>.", "<B> Rome", "**<B>**", "Answer: <B>")),
    *((LETTERS, ALL, ["<B> Rome"], text, "correct") for text in ("(B)", "B", "<B>", "Rome")),
    *((LETTERS, ALL, ["B"], text, "incorrect") for text in ("<C>", "<B>Oslo</B>", "It is <C>, not <B>.")),
    # The answers are options and labels.
    *(("How many legs? 1) 2 2) 4 3) 6", WORDS, ["4"], text, "correct") for text in ("4", "Answer: 4")),
    (LETTERS, ALL, ["B"], "B\n\nParis is in France (A), and Oslo (C) is in Norway.", "correct"),
    (LETTERS, ALL, ["B"], "The answer is A... wait, no. Paris is French, so B.", "correct"),
    # Steps and conditions, not options.
    (
        "1. Mix 2 eggs. 2. Add 3 cups of milk. How many cups?",
        MATH,
        ["2"],
        "Mix 2 eggs, add 3 cups",
        "incorrect",
    ),
    ("Given (1) x > 2 and (2) x < 9, how many?", ALL, ["6"], "6", "correct"),
]


@pytest.mark.parametrize(
    ("rule", "question", "references", "candidate", "verdicts"),
    [(rule, question, *row) for question, rules, *row in OPTIONS for rule in rules],
)
def test_verdicts_on_options(rule: str, question: str, references: list[str], candidate: str, verdicts: str) -> None:
    found = label(rule, references, candidate, question)
    assert found.verdict in verdicts.split("|"), found


@pytest.mark.parametrize(
    ("rule", "references", "candidate", "verdicts"),
    [(rule, *row) for rules, *row in (*SYMBOLS, *ZEROS, *WHOLE_ANSWERS, *NUMBERS, *NAMES, *EMPTY, *SCRIPTS) for rule in rules],
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
