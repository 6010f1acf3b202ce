"""Lexical judges."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import UNFINISHED_FLAG, Label, Row
from bert_judge.text.word_metrics import common_subsequence_length, rouge_l_f, rouge_l_recall

QUESTION = "Which city?\n(A) Paris\n(B) London\n(C) New York\n(D) New York City"
LETTERS = "Which vitamin?\n(A) B\n(B) C\n(C) A"
STRICT = {"metric": "exact_match", "extract": ["final_answer"]}
LENIENT = {"metric": "exact_match", "extract": ["final_answer", "boxed", "full_text"]}
RAW = {"metric": "exact_match", "extract": ["final_answer"], "normalize": False}
CHOICE = {"metric": "exact_match", "extract": ["choice", "final_answer"]}
CONTAINS = {"metric": "contains"}
RECALL = {"metric": "rouge_l_recall"}
F_MEASURE = {"metric": "rouge_l_f"}
TOKEN_F1 = {"metric": "token_f1"}
MATH = {"metric": "math_verify", "extract": ["boxed", "final_answer", "last_number"]}


# One judge per settings, so that Math-Verify's worker starts once.
_judge = lru_cache(lambda settings: LexicalJudge(json.loads(settings)))


@pytest.fixture(scope="module", autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    _judge.cache_clear()


def label(settings: dict[str, Any], references: list[str], candidate: str, question: str = "Which?") -> Label:
    return _judge(json.dumps(settings)).judge([Row("id", 0, "model", question, tuple(references), candidate)])[0]


@pytest.mark.parametrize(
    ("settings", "references", "candidate", "verdict"),
    [
        (STRICT, ["Paris"], "Final answer: Paris", "correct"),
        (STRICT, ["Paris"], "**Final answer:** the paris.", "correct"),
        (STRICT, ["Lutetia", "Paris"], "Final answer: Paris", "correct"),
        (STRICT, ["Paris"], "Final answer: London", "incorrect"),
        (STRICT, ["Paris"], "Final answer: Paris, France", "incorrect"),
        (STRICT, ["Paris"], "Paris", "invalid"),
        (STRICT, ["Paris"], "<think>Final answer: Paris", "invalid"),
        (STRICT, ["1000"], "Final answer: $1,000.00", "correct"),
        (STRICT, ["15"], "Final answer: 1.5", "incorrect"),
        (STRICT, ["北京"], "最终 答案：北京。", "correct"),
        (STRICT, ["باريس"], "الإجابة: بَارِيس", "correct"),
        (STRICT, ["Besançon"], "Réponse : besancon", "correct"),
        (STRICT, ["NO"], "Final answer: N", "incorrect"),
        (STRICT, ["NO"], "Final answer: No", "correct"),
        (STRICT, ["HI"], "Final answer: H", "incorrect"),
        (STRICT, ["DEF"], "Final answer: D", "incorrect"),
        (STRICT, ["DEF"], "Final answer: def", "correct"),
        (LENIENT, ["Paris"], "Paris.", "correct"),
        (LENIENT, ["x"], "so \\boxed{x}", "correct"),
        (LENIENT, ["Paris"], "It is Paris", "incorrect"),
        (LENIENT, ["Paris"], "", "incorrect"),
        (LENIENT, ["Paris"], " \n\t", "incorrect"),
        (LENIENT, ["..."], "...", "correct"),
        (RAW, ["Paris"], "Final answer: Paris", "correct"),
        (RAW, ["Paris"], "Final answer: paris", "incorrect"),
        (CONTAINS, ["Paris"], "I am sure it is paris!", "correct"),
        (CONTAINS, ["art"], "It is a party", "incorrect"),
        (CONTAINS, ["NO"], "There is nothing", "incorrect"),
        (CONTAINS, ["HI"], "This", "incorrect"),
        (CONTAINS, ["five"], "There are 5.", "correct"),
        (CONTAINS, ["北京"], "中国的首都是北京。", "correct"),
        (CONTAINS, ["東京"], "中国的首都是北京。", "incorrect"),
        (CONTAINS, ["القاهرة"], "عاصمة مصر هي القاهرة.", "correct"),
        (CONTAINS, ["São Paulo"], "in Sao Paulo, Brazil", "correct"),
        (CONTAINS, ["Москва"], "Столица — Москва.", "correct"),
        (CONTAINS, ["Paris"], "<think>Paris?</think>London", "incorrect"),
        (LENIENT, ["5 + 7 = 12\n#### 12"], "The answer is 12.", "correct"),
        (LENIENT, ["The answer is Oslo."], "Oslo<|im_end|>", "correct"),
        (MATH, ["So $x = \\boxed{\\frac{1}{2}}$."], "Final answer: 0.5", "correct"),
        (RECALL, ["George Washington"], "Washington", "correct"),
        (RECALL, ["George Herbert Washington"], "Washington", "incorrect"),
        (RECALL, ["running dogs"], "a dog runs", "correct"),
        (RECALL, ["北京市"], "北京", "correct"),
        (RECALL, ["Москва река"], "Волга", "incorrect"),
        (RECALL, ["x"], "", "incorrect"),
        (F_MEASURE, ["George Washington"], "George Washington", "correct"),
        (F_MEASURE, ["George Washington"], "it was none other than George Washington himself", "incorrect"),
        (TOKEN_F1, ["George Washington"], "Washington, George", "correct"),
        (TOKEN_F1, ["George Washington"], "John Adams", "incorrect"),
        (MATH, ["\\frac{1}{2}"], "so \\boxed{0.5}", "correct"),
        (MATH, ["\\sqrt{2}"], "Final answer: $2^{1/2}$", "correct"),
        (MATH, ["12"], "She has 3 x 4 = 12 apples", "correct"),
        (MATH, ["12"], "She has 13", "incorrect"),
        (MATH, ["2.74"], "The price: 2,74 € or so", "correct"),
        (MATH, ["74"], "The price: 2,74 € or so", "incorrect"),
        (MATH, ["2"], "the plate is AZYUK2A", "invalid"),
        (MATH, ["2"], "that is CO2", "invalid"),
        (MATH, ["5"], "an area of 5 km2 in all", "correct"),
        (MATH, ["500"], "he pays Rs500", "correct"),
        (MATH, ["10455"], "The interest is \\boxed{200}. Final Answer: The final answer is $10,455$.", "correct"),
        (MATH, ["200"], "The interest is \\boxed{200}. Final Answer: The final answer is $10,455$.", "incorrect"),
        (MATH, ["200"], "The interest is \\boxed{200}. I hope the answer is helpful.", "correct"),
        (MATH, ["12", "13"], "She has 13", "correct"),
        (MATH, ["12%", "13%"], "['12%', '13%']", "correct"),
        (MATH, ["2019", "2018"], "Answer: 2019 and 2018", "correct"),
        (MATH, ["2019", "2018"], "Answer: 2019 and 2017", "incorrect"),
        (LENIENT, ["Samuel L. Jackson"], "Samuel Jackson", "correct"),
        (LENIENT, ["George W. Bush"], "George H. W. Bush", "incorrect"),
        (MATH, ["yes"], "The answer is Yes.", "correct"),
        (MATH, ["yes"], "The answer is no.", "incorrect"),
        (MATH, ["a share repurchase"], "Final answer: A share repurchase", "correct"),
        (MATH, ["-596 thousand"], "-$596 thousand", "correct"),
        (MATH, ["-596 thousand"], "$596 thousand", "incorrect"),
        (MATH, ["12"], "none", "invalid"),
        (MATH, ["12"], "Final answer: unknown", "invalid"),
    ],
)
def test_verdicts(settings: dict[str, Any], references: list[str], candidate: str, verdict: str) -> None:
    found = label(settings, references, candidate)
    assert found.verdict == verdict, found
    assert (found.score is None) == (verdict == "invalid")
    assert found.reason


@pytest.mark.parametrize(
    ("settings", "question", "references", "candidate", "verdict"),
    [
        (STRICT, QUESTION, ["B", "London"], "Final answer: B", "correct"),
        (STRICT, QUESTION, ["B", "London"], "Final answer: (b)", "correct"),
        (STRICT, QUESTION, ["B", "London"], "Final answer: B. London", "correct"),
        (STRICT, QUESTION, ["B", "London"], "Final answer: London", "correct"),
        (STRICT, QUESTION, ["B", "London"], "Final answer: B. Paris", "incorrect"),
        (STRICT, QUESTION, ["B", "London"], "Final answer: I think it is B", "incorrect"),
        (STRICT, QUESTION, ["B", "London"], "B", "invalid"),
        (STRICT, QUESTION, ["London"], "Final answer: B", "correct"),
        (CHOICE, QUESTION, ["B", "London"], "I think it is B because …\n\n(B)", "correct"),
        (CHOICE, QUESTION, ["B", "London"], "(A) is wrong, so the answer is (B).", "correct"),
        (CHOICE, QUESTION, ["A", "Paris"], "A cat sat on the mat.", "invalid"),
        (CHOICE, QUESTION, ["D", "New York City"], "(A) Paris (B) London (C) New York (D) New York City", "invalid"),
        (CHOICE, QUESTION, ["C", "New York"], "New York City", "incorrect"),
        (CONTAINS, QUESTION, ["B", "London"], "Surely London.", "correct"),
        (CONTAINS, QUESTION, ["A", "Paris"], "A town on the Thames: London", "incorrect"),
        (CHOICE, LETTERS, ["A", "B"], "The answer is B", "incorrect"),
        (CHOICE, LETTERS, ["A", "B"], "The answer is A", "correct"),
        (CONTAINS, QUESTION, ["B"], "I like none of these cities.", "invalid"),
        (CONTAINS, QUESTION, ["B"], "I would rule out B.", "invalid"),
        (CONTAINS, QUESTION, ["London"], "I like none of these cities.", "incorrect"),
        (CHOICE, QUESTION, ["B"], "The answer is A and B.", "incorrect"),
        (CONTAINS, QUESTION, ["(B) London"], "The answer is (B).", "correct"),
        (CONTAINS, QUESTION, ["A, C"], "Paris (A) and so on. Answer: A and C", "correct"),
        (CONTAINS, "Which vitamin?", ["C"], "It's vitamin C.", "correct"),
        (CHOICE, "No options listed", ["C"], "The answer is (C)", "correct"),
        (CHOICE, "No options listed", ["C"], "The answer is (D)", "incorrect"),
    ],
)
def test_multiple_choice(settings: dict[str, Any], question: str, references: list[str], candidate: str, verdict: str) -> None:
    found = label(settings, references, candidate, question)
    assert found.verdict == verdict, found


def test_invalid_labels_have_a_reason() -> None:
    assert label(STRICT, ["x"], "<think>I").reason == "unfinished reasoning"
    assert label(STRICT, ["x"], "y").reason == "no answer found by final_answer"


@pytest.mark.parametrize(
    ("settings", "references", "candidate", "reason"),
    [
        (CONTAINS, ["Paris"], "It is Paris, I believe.", 'contains: found "Paris"'),
        (CONTAINS, ["Rome", "Paris"], "It is Paris, I believe.", 'contains: found "Paris"'),
        (CONTAINS, ["Rome"], "It is Paris.", 'contains: did not find "Rome"'),
        (CONTAINS, ["5 km"], "It is 5 km/h.", 'contains: found within another number, unit or word: "5 km"'),
        (LENIENT, ["Paris"], "Final answer: Rome", 'exact_match: final answer "Rome" ≠ "Paris"'),
        (LENIENT, ["Paris"], "the paris", 'exact_match: "the paris" = "Paris"'),
        (LENIENT, ["Paris"], "Paris", "identical to a reference"),
        (LENIENT, ["x" * 99], "y\ny", f'exact_match: "y y" ≠ "{"x" * 80}…"'),
        (
            {**TOKEN_F1, "threshold": 0.3},
            ["15 April 1912, at night"],
            "It sank on 15 April 1913.",
            'token_f1 .364 ≥ .3: has 15, april; lacks 1912, at, night of "15 April 1912, at night"; words of the answer: 6',
        ),
        (
            TOKEN_F1,
            ["Type 2"],
            "Type 1",
            'token_f1 0 < .5: another number, formula, negation or unit; has type; lacks 2 of "Type 2"; words of the answer: 2',
        ),
        (RECALL, ["running dogs"], "a dog runs", 'rouge_l_recall .5 ≥ .5: has all words of "running dogs"; words of the answer: 2'),
        (MATH, ["x^2+x"], "\\boxed{x(x-1)}", 'math_verify: boxed "x(x-1)" ≠ "x^2+x"'),
        (MATH, ["x^2+x"], "\\boxed{x(x+1)}", 'math_verify: boxed "x(x+1)" = "x^2+x", by Math-Verify'),
        # What was compared is called what it is.
        (MATH, ["{1,2}"], "The solutions are {1,2}.", 'math_verify: last formula "{1,2}" = "{1,2}"'),
        (MATH, ["(1,2)"], "The point is (1, 2).", 'math_verify: last formula "(1, 2)" = "(1,2)"'),
        (MATH, ["5"], "So we get 3 and then 5 of them.", 'math_verify: last number "5" = "5"'),
        (MATH, ["1, 2"], "x = 1, 2", 'math_verify: "x = 1, 2" = "1, 2", by Math-Verify'),
        (MATH, ["12"], "So 13.", "number: another number: 13 ≠ 12"),
        (
            MATH,
            ["yes"],
            "Final answer: no",
            'math_verify: final answer "no" ≠ "yes"; no reference is a mathematical expression; compared as text',
        ),
    ],
)
def test_a_reason_can_be_checked(settings: dict[str, Any], references: list[str], candidate: str, reason: str) -> None:
    assert label(settings, references, candidate).reason == reason


def test_the_reason_of_a_choice_names_both_options() -> None:
    assert label(CHOICE, ["B"], "I think it is (C).", QUESTION).reason == "chooses C; the reference is B"


def test_rouge_threshold() -> None:
    at = label({**RECALL, "threshold": 0.5}, ["red blue"], "blue")
    above = label({**RECALL, "threshold": 0.6}, ["red blue"], "blue")
    assert (at.verdict, at.score, above.verdict, above.score) == ("correct", 0.5, "incorrect", 0.5)


def test_stem_setting() -> None:
    assert label({**RECALL, "stem": False}, ["running dogs"], "a dog runs").score == 0
    assert label(RECALL, ["running dogs"], "a dog runs").score == 0.5


def test_no_rows() -> None:
    with LexicalJudge(MATH) as judge:
        assert judge.judge([]) == []


def test_rows_keep_their_order_and_do_not_depend_on_each_other() -> None:
    texts = ["\\boxed{0.50}", "", "Final answer: 7", "$9^{9^{9^{9}}}$ so \\boxed{9^{9^{9^{9}}}}", "\\boxed{\\frac12}", "none"] * 2
    rows = [Row(str(i), 0, "m", "q", ("\\frac{1}{2}",), text) for i, text in enumerate(texts)]
    with LexicalJudge(MATH) as judge:
        together = judge.judge(rows)
        alone = [judge.judge([row])[0] for row in rows[:3]]
    assert [found.verdict for found in together] == ["correct", "incorrect", "incorrect", "invalid", "correct", "invalid"] * 2
    assert together[3].reason == "Math-Verify did not finish: a number of more than 1,000,000 bits"
    assert together[3].flags == (UNFINISHED_FLAG,)
    assert together[:3] == alone


@pytest.mark.parametrize("settings", [STRICT, LENIENT, CONTAINS, RECALL, F_MEASURE, TOKEN_F1, CHOICE, MATH])
def test_a_megabyte_takes_seconds(settings: dict[str, Any]) -> None:
    candidate = "the quick brown fox and 17 others are 北京 or Zürich. " * 20_000 + "\nFinal answer: 17"
    started = time.process_time()
    found = label(settings, ["17", "the fox " * 200], candidate)
    assert found.verdict in ("correct", "incorrect")
    assert time.process_time() - started < 10


@pytest.mark.parametrize("unit", ["A ", "A. ", "J. K ", "- ", "> A", "</answer> ", "is 5 ", "0.0", "May 5 "])
def test_repetition_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    label(LENIENT, ["17"], unit * 30_000)
    assert time.process_time() - started < 3


def test_a_lexical_judge_imports_nothing_heavy() -> None:
    code = (
        "import sys; from bert_judge.judges.lexical.judge import LexicalJudge; "
        "print([m for m in ('torch', 'transformers', 'sympy', 'math_verify') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


class _Split:
    def tokenize(self, text: str) -> list[str]:
        return text.split()


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "北"]), min_size=1, max_size=30)


def test_rouge_truncates_the_longest_texts() -> None:
    assert common_subsequence_length(["ﬁ"] * 2000, ["ﬁ"] * 100_000) == 1000
    assert common_subsequence_length(["a"], ["a"] + ["b"] * 100_000) == 1


@given(WORDS, WORDS)
def test_rouge_equals_the_package(reference: list[str], answer: list[str]) -> None:
    expected = RougeScorer(["rougeL"], tokenizer=_Split()).score(" ".join(reference), " ".join(answer))["rougeL"]
    assert rouge_l_recall(reference, answer) == pytest.approx(expected.recall)
    assert rouge_l_f(reference, answer) == pytest.approx(expected.fmeasure)
