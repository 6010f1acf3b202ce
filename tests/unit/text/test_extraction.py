"""Where the answer stands in a text."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.text import choices, extraction
from bert_judge.text.normalization import normalize, normalize_words
from bert_judge.text.options import parse_options
from bert_judge.text.visible_text import strip_reasoning

OPTIONS = parse_options("Which city?\n(A) Paris\n(B) London\n(C) New York\n(D) New York City")


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
        ("<answer>\nRome\n</answer>", "Rome"),
        ("<final_answer>Rome</final_answer> as shown", "Rome"),
        ("[Answer] Rome", "Rome"),
        ("【答案】罗马", "罗马"),
        ("[正确答案]C", "C"),
        ("### Final Answer\n\n**Rome**\n\nMore text", "Rome"),
        ("**Answer**\nRome", "Rome"),
        ('{"final_answer": 7}', "7"),
        ('{"answer": ["Rome", "Oslo"]}', "Rome, Oslo"),
        ("{'answer': 'Rome', 'sure': True}", "Rome"),
        ("Ans. = 7", "7"),
        ("The answer is therefore Rome", "Rome"),
        ("The answer is Rome because of its age", "Rome"),
        ("The answer is Dr. Watson. He writes.", "Dr. Watson"),
        ("The answer is vitamin D. It helps.", "vitamin D"),
        ("La respuesta correcta es Roma.", "Roma"),
        ("La réponse est Rome.", "Rome"),
        ("Die Antwort lautet: Rom", "Rom"),
        ("Правильный ответ: Рим", "Рим"),
        ("答えはローマです。", "ローマ"),
        ("정답은 로마입니다.", "로마"),
        ("उत्तर: रोम", "रोम"),
        ("Jawabannya adalah Roma.", "Roma"),
        ("Jibu: Roma", "Roma"),
        ("Đáp án là Roma", "Roma"),
        ("#### Step 1\nAdd.\n#### 12\n", "12"),
        ("#### Step 1\nAdd the numbers.", None),
        ("It is Rome. I hope this answer is useful.", None),
        ("It is Rome. Tell me if the answer is not clear.", None),
        ("The answer to that is widely known. It is Rome.", None),
        ("Answer: Rome. The answer is obvious.", "Rome. The answer is obvious"),
        ("The answer is Rome. The answer is correct.", "Rome"),
        ("La respuesta no es Roma", None),
        ("答案不是罗马", None),
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
        ("$\\boxed{3}$ and $\\boxed{4}$", "3, 4"),
        ("x = \\boxed{3}, y = \\boxed{4}.", "3, 4"),
        ("\\boxed{3}, \\boxed{4}, and \\boxed{5}", "3, 4, 5"),
        ("\\boxed{3}. No, and then \\boxed{4}", "4"),
        ("\\boxed{3}\n\n\\boxed{3}", "3"),
        ("\\boxed{3 and \\boxed{4}", "4"),
        ("\\boxed{\\boxed{3}}", "\\boxed{3}"),
        ("none", None),
    ],
)
def test_boxed(text: str, expected: str | None) -> None:
    assert extraction.boxed(text) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("6 * 8 = <<6*8=48>>48\n#### 48", "48"),
        ("Thus $x = \\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}"),
        ("The answer is Oslo.", "Oslo"),
        ("So the final answer is 12.", "12"),
        ("First add. Therefore, the answer is 7.", "7"),
        ("正确答案：C。", "C"),
        ("<answer>Oslo</answer>", "Oslo"),
        ('{"answer": "Oslo"}', "Oslo"),
        ("Answer: Oslo\nExplanation: it is the capital.", "Oslo"),
        ("Oslo", "Oslo"),
        ("There is no single answer: it depends", "There is no single answer: it depends"),
        ("The answer is 7. Many other numbers are not.", "The answer is 7. Many other numbers are not."),
        ("Answer the door: somebody knocked", "Answer the door: somebody knocked"),
    ],
)
def test_reference(reference: str, expected: str) -> None:
    assert extraction.extract_reference(reference) == expected


VALUES = st.text("abcdefxyzäé", min_size=2, max_size=12).filter(lambda text: text not in ("be", "da"))
WRAPPERS = (
    *("{}", "**{}**", '"{}"', "`{}`", "${}$", "\\({}\\)", "\\boxed{{{}}}", "\\text{{{}}}", "$\\boxed{{\\text{{{}}}}}$"),
    *("<b>{}</b>", " {}.\n"),
)
STATEMENTS = (
    *("Final answer: {}", "<answer>{}</answer>", '{{"answer": "{}"}}', "## Answer\n{}", "答案：{}", "Respuesta: {}"),
    "The answer is {}.",
)
CLOSINGS = (
    *("", "\nI hope this answer is helpful!", "\nLet me know if the answer is not what you expected."),
    "\n\nThe answer is correct.",
)


@given(VALUES, st.sampled_from(WRAPPERS), st.sampled_from(STATEMENTS), st.sampled_from(CLOSINGS))
def test_an_answer_survives_wrapping_and_closing_phrases(value: str, wrapper: str, statement: str, closing: str) -> None:
    wrapped = wrapper.format(value)
    assert extraction.strip_markup(wrapped) == value
    if '"' not in wrapped and "\\" not in wrapped:
        assert extraction.extract_final_answer(statement.format(wrapped.strip()) + closing) == value


@given(VALUES, st.sampled_from(CLOSINGS))
def test_a_text_without_a_marked_answer_keeps_its_answer(value: str, closing: str) -> None:
    assert extraction.extract_final_answer(f"It is {value}.{closing}") is None


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
        "the answer is not " * 12_000,
        "respuesta a la " * 14_000,
        "答案" * 100_000,
        "(A) and B " * 20_000,
        "### **" * 33_000,
        "<answer>" * 25_000,
    ],
    ids=lambda text: text[:14],
)
def test_time_is_linear_in_the_text(text: str) -> None:
    started = time.process_time()
    strip_reasoning(text)
    extraction.extract_reference(text)
    parse_options(text)
    extraction.extract_final_answer(text)
    extraction.boxed(text)
    extraction.extract_last_number(text)
    choices.extract_choice(text, OPTIONS)
    normalize(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "names", [("answer_english", "answer", "answer_without_spaces"), ("option", "choose"), ("reject", "rejected")]
)
def test_phrases_behind_their_initial_are_the_same_phrases(names: tuple[str, ...]) -> None:
    plain, grouped = (
        re.compile(extraction.phrase_pattern(*names, by_initial=by_initial), re.IGNORECASE) for by_initial in (False, True)
    )
    phrases = [phrase for name in names for phrase in extraction.phrases()[name]]
    for phrase in ("ANSWER", "anſwer", "optıon: B", "OPTİON", "answers are", "的答案", "yanit", "AnKara", "ans.", *phrases):
        text = f"The {phrase} is {phrase.upper()}."
        assert [match.span() for match in grouped.finditer(text)] == [match.span() for match in plain.finditer(text)]
