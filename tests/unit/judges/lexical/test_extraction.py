"""Where the answer stands in a text."""

import time

import pytest

from bert_judge.judges.lexical import choices, extraction
from bert_judge.judges.lexical.normalization import normalize, normalize_words
from bert_judge.judges.visible_text import strip_reasoning

QUESTION = "Which city?\n(A) Paris\n(B) London\n(C) New York\n(D) New York City"
OPTIONS = choices.parse_options(QUESTION)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>Paris", "Paris"),
        ("<think>Final answer: 1</think> x </think> Paris", " Paris"),
        ("no end of a start</thinking>Rome", "Rome"),
        ("[THINK]hm[/THINK]Rome", "Rome"),
        ("<think>still at it", None),
        ("<think>a</think>b <think>c", None),
        ("Paris", "Paris"),
        ("", ""),
    ],
)
def test_strip_reasoning(text: str, expected: str | None) -> None:
    assert strip_reasoning(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Final answer: Paris", "Paris"),
        ("FINAL ANSWER: Paris", "Paris"),
        ("**Final Answer:** Paris.", "Paris"),
        ("**Final answer: Paris**", "Paris"),
        ("final answer：巴黎", "巴黎"),
        ("答案是北京。", "北京"),
        ("الإجابة: باريس", "باريس"),
        ("Réponse finale : Besançon", "Besançon"),
        ("Final answer:\n\nParis\nThat is all", "Paris"),
        ("The final answer is:\n\\[\n\\boxed{5}\n\\]", "5"),
        ("Final answer: 3\nNo, wait.\nFinal answer: 4", "4"),
        ("The final answer is Paris. It lies on the Seine.", "Paris"),
        ("The answer is St. Louis. Yes.", "St. Louis"),
        ("The answer is 5,700 people. (19 x 15)", "5,700 people"),
        ("The answer to your question is 1.5", "1.5"),
        ("Final Answer: How old is he?\nHe is 7.", "He is 7"),
        ('{"reasoning": "the answer: 3", "answer": "4", "sure": 1}', "4"),
        ('"answer": "\\\\frac{1}{2}"', "\\frac{1}{2}"),
        ('"answer": "\\frac{1}{2}"', "\\frac{1}{2}"),
        ("Answer: $\\frac{1}{2}$.", "\\frac{1}{2}"),
        ("Final answer: \\boxed{\\text{B}}", "B"),
        ("so\n#### 42", "42"),
        ("Final answer:", None),
        ("Final answer:  \n \n", None),
        ("It is Paris.", None),
        ("", None),
    ],
)
def test_final_answer(text: str, expected: str | None) -> None:
    assert extraction.extract_final_answer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\boxed{1} then \\boxed{2}", "2"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{\\sqrt{a^{b_{c}}}} end", "\\sqrt{a^{b_{c}}}"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"),
        ("\\fbox{x}", "x"),
        ("\\boxed {x}", "x"),
        ("\\boxed 7", "7"),
        ("\\boxed{北京}", "北京"),
        ("\\boxed{1} and \\boxed{2", None),
        ("\\boxed{}", None),
        ("none", None),
    ],
)
def test_boxed(text: str, expected: str | None) -> None:
    assert extraction.boxed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1, 2 and 3", "3"),
        ("1,234,567.50 dollars", "1234567.50"),
        ("$1{,}000$", "1000"),
        ("1,2,3", "3"),
        ("-5", "-5"),
        ("−5.", "-5"),
        ("10-5", "5"),
        ("10 - 5", "5"),
        ("it costs -$5", "-5"),
        ("3/4 cup", "3/4"),
        ("\\frac{3}{4}", "3/4"),
        ("-\\dfrac{3}{4}", "-3/4"),
        ("50\\%", "50%"),
        ("1.5 \\times 10^{3} m", "1500"),
        ("2e-3", "0.002"),
        (".5", ".5"),
        ("£20.", "20"),
        ("The answer is 5. I took 3 steps.", "5"),
        ("٤٢", "٤٢"),
        ("none", None),
        ("", None),
    ],
)
def test_last_number(text: str, expected: str | None) -> None:
    assert extraction.extract_last_number(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        ("**B**", "B"),
        ("B) London", "B"),
        ("London", "B"),
        ("\\boxed{\\text{C}}", "C"),
        ("the answer is B", "B"),
        ("The answer is (C).", "C"),
        ("So the answer is (d).", "D"),
        ("Answer: **A**", "A"),
        ("答案：B", "B"),
        ("The answer is A because it is.", "A"),
        ("(A) is wrong. The answer is (B).", "B"),
        ("The answer is A. No: the answer is B.", "B"),
        ("Option C is correct", "C"),
        ("I would go for\n\nD", "D"),
        ("I think it is London", "B"),
        ("It must be New York City", "D"),
        ("The answer is a cat", None),
        ("Answer: A dog", None),
        ("A cat sat on the mat", None),
        ("Paris or London", None),
        ("answer is E", None),
        ("(A) Paris (B) London (C) New York (D) New York City", None),
        ("BAD DECADE", None),
        ("", None),
    ],
)
def test_choice(text: str, expected: str | None) -> None:
    assert choices.extract_choice(text, OPTIONS) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (QUESTION, {"A": "Paris", "B": "London", "C": "New York", "D": "New York City"}),
        ("x (A) 1 (B) 2", {"A": "1", "B": "2"}),
        ("x\nA. 1\nB. 2", {"A": "1", "B": "2"}),
        ("x ['A)1.5%', 'B)4.5%']", {"A": "1.5%", "B": "4.5%"}),
        ("As (A) and (C) say", {}),
        ("Only (A) here", {}),
        ("", {}),
    ],
)
def test_parse_options(question: str, expected: dict[str, str]) -> None:
    assert choices.parse_options(question) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Beatles!", "beatles"),
        ("A", "a"),
        ("1,000.50", "1000.5"),
        ("3.5", "3.5"),
        ("10.0", "10"),
        ("-5", "-5"),
        ("1939–1945", "1939 1945"),
        ("U.S. Army's", "us armys"),
        ("Beyoncé", "beyonce"),
        ("ＡＢＣ１２", "abc12"),
        ("Straße", "strasse"),
        ("два слова", "два слова"),
        ("й", "й"),
        ("北京市。", "北 京 市"),
        ("العَرَبِيَّة", "العربية"),
        ("हिन्दी", "हिन्दी"),
        ("٤٢", "42"),
        ("Seven dwarfs", "7 dwarfs"),
        ("1/2", "1/2"),
        ("!?", "!?"),
    ],
)
def test_normalization(text: str, expected: str) -> None:
    assert normalize(text) == expected
    assert normalize_words(expected) == normalize_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "answer to " * 25_000,
        "\\boxed{" * 40_000,
        "\\boxed{" * 20_000 + "}" * 20_000,
        "1," * 100_000,
        "9" * 200_000,
        "Final answer:" + " " * 200_000,
        "Final answer:```" + "_" * 200_000,
        '"answer": "' + "\\" * 199_999,
        "(" * 200_000,
        "$" * 200_000,
        "*" * 200_000 + "B",
        "<think>" * 30_000,
        "option " * 30_000,
        "é\u0301" * 80_000,
    ],
    ids=lambda text: text[:14],
)
def test_time_is_linear_in_the_text(text: str) -> None:
    started = time.process_time()
    strip_reasoning(text)
    extraction.extract_final_answer(text)
    extraction.boxed(text)
    extraction.extract_last_number(text)
    choices.extract_choice(text, OPTIONS)
    normalize(text)
    assert time.process_time() - started < 5
