"""Which option a question lists, a reference names and an answer chooses."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bert_judge.text import choices
from bert_judge.text.options import expected_choice, parse_options

QUESTION = "Which city?\n(A) Paris\n(B) London\n(C) New York\n(D) New York City"
OPTIONS = parse_options(QUESTION)
TWO = {"A": "salt", "B": "sugar"}
THREE = {"A": "salt", "B": "sugar", "C": "flour"}


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
        ("Option B is correct. Option A is incorrect, option C is incorrect.", "B"),
        ("A is wrong because it is small. B is wrong. D is wrong. C", "C"),
        ("(A) is incorrect. (B) is incorrect. (C) is correct.", "C"),
        ("A: wrong\nB: correct\nC: wrong", "B"),
        ("A, C and D are wrong, so B.", "B"),
        ("I'd pick C over B.", "C"),
        ("Not A; it's B.", "B"),
        ("B. Not A, because Paris is French.", "B"),
        ("Neither A nor C is correct; D is a nickname. B it is.", "B"),
        ("The answer is A. Wait, no, it's B.", "B"),
        ("Ruling out A and C, between B and D, B is better.", "B"),
        ("I prefer B to A.", "B"),
        ("A: B", "B"),
        ("B. Birds (A) do, and people of New York (C) too.", "B"),
        ("Anything but B.", None),
        ("The answer is not A. It is B.", "B"),
        ("Answer: rules out C, leaving D", "D"),
        ("I would eliminate option B.", None),
        ("Option B is not correct", None),
        ("The answer is not B.", None),
        ("The answer is A and B.", "AB"),
        ("A or B", "AB"),
        ("\\boxed{A, C}", "AC"),
        ("选AB", "AB"),
        ("<answer>B</answer>", "B"),
        ('{"answer": "B"}', "B"),
        ("Ans: B", "B"),
        ("Answer = B", "B"),
        ("[[B]]", "B"),
        ("b. London is it", "B"),
        ("B. London\n\nParis (A) is in France, and (C) is in America.", "B"),
        ("Jawaban: B", "B"),
        ("La respuesta correcta es la B.", "B"),
        ("Die richtige Antwort ist B.", "B"),
        ("Правильный ответ — B", "B"),
        ("정답은 B입니다.", "B"),
        ("उत्तर B है", "B"),
        ("الجواب: ب", "B"),
        ("故选B", "B"),
        ("答案选B", "B"),
        ("只有选项B是对的", "B"),
        ("A错误；B正确；C错误", "B"),
        ("不选B", None),
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
        ("x A) salt B) sugar", TWO),
        ("x A. salt B. sugar C. flour", THREE),
        ("x\n[A] salt\n[B] sugar", TWO),
        ("x\n- A) salt\n- B) sugar", TWO),
        ("x\n**A.** salt\n**B.** sugar", TWO),
        ("x\na) salt\nb) sugar", TWO),
        ("x\nOption A: salt\nOption B: sugar", TWO),
        ("x\nA - salt\nB - sugar", TWO),
        ("x\nA. salt  B. sugar\nC. flour", THREE),
        ("哪个？A、salt B、sugar", TWO),
        ("哪个？\n（A）salt\n（B）sugar", TWO),
        ("x {'A': 'salt', 'B': 'sugar'}", TWO),
        ("x (A) salt or (B) sugar", TWO),
        ("x\n| A | salt |\n| B | sugar |", TWO),
        ("x<br>A) salt<br>B) sugar", TWO),
        ("x\\nA. salt\\nB. sugar", TWO),
        ("x $\\textbf{(A)}\\ salt \\qquad \\textbf{(B)}\\ sugar", TWO),
        ("x\n__A.__ salt\n__B.__ sugar", TWO),
        ("x\nＡ．salt\nＢ．sugar", TWO),
        ("x\nA salt\nB sugar\nC flour", THREE),
        ("A dog\nand a cat", {}),
        ("x\nA) salt\nB) sugar\n\nAnswer with the letter.", TWO),
        ("y\nA. 1\nB. 2\nC. 3\nAnswer: A\n\nx\nA. salt\nB. sugar", TWO),
        ("Of a) and b), which?\n(A) salt\n(B) sugar", TWO),
        ("f(A) and g(B)", {}),
        ("As (A) and (C) say", {}),
        ("Only (A) here", {}),
        ("", {}),
    ],
)
def test_parse_options(question: str, expected: dict[str, str]) -> None:
    assert parse_options(question) == expected


@pytest.mark.parametrize(
    "reference", ["B", "(B)", "B.", "B) London", "(B) London", "[B]", "**B**", "b", "Option B", "选项B", "London"]
)
def test_reference(reference: str) -> None:
    expected = expected_choice(QUESTION, (reference,))
    assert expected is not None
    assert expected.correct == {"B"}
    assert expected.by_letter == (reference != "London")


@pytest.mark.parametrize(
    ("question", "references", "correct"),
    [
        (QUESTION, ("A, C",), {"AC"}),
        (QUESTION, ("AC",), {"AC"}),
        (QUESTION, ("B", "London"), {"B"}),
        (QUESTION, ("A", "C"), {"AC"}),
        (QUESTION, ("A", "Paris", "C", "New York"), {"A", "C"}),
        (QUESTION, ("The answer is (C).",), {"C"}),
        (QUESTION, ("Rome",), None),
        ("Who?", ("(B)",), {"B"}),
        ("Who?", ("A. Lincoln",), None),
        ("Who?", ("b",), None),
    ],
)
def test_references(question: str, references: tuple[str, ...], correct: set[str] | None) -> None:
    expected = expected_choice(question, references)
    assert (expected and expected.correct) == correct


DECORATIONS = ("{}", "({})", "[{}]", "**{}**", "**({})**", "{}.", "{})", '"{}"', "`{}`", "${}$", "\\boxed{{{}}}", "Option {}")
SENTENCES = (
    *("{}", "The answer is {}", "Answer: {}", "So the correct option is {}", "I choose {}", "A plain opening.\n\n{}"),
    *("答案：{}", "选{}", "<answer>{}</answer>", "La respuesta es {}", "The answer is {}\n\nI hope this answer is helpful!"),
)


@given(st.sampled_from("ABCD"), st.sampled_from(DECORATIONS), st.sampled_from(SENTENCES))
def test_a_chosen_letter_survives_decoration(letter: str, decoration: str, sentence: str) -> None:
    assert choices.extract_choice(sentence.format(decoration.format(letter)), OPTIONS) == letter


@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_rejecting_other_options_does_not_change_the_choice(letter: str, other: str) -> None:
    assume(letter != other)
    for text in (
        "{1} is wrong. The answer is {0}.",
        "The answer is {0}, not {1}.",
        "Option {0} is correct. Option {1} is incorrect.",
    ):
        assert choices.extract_choice(text.format(letter, other), OPTIONS) == letter
