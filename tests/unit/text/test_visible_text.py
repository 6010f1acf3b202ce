"""Normalisation of texts to what a reader sees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.runtime.errors import InputError
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.visible_text import (
    is_blank,
    is_blank_answer,
    normalize_text,
    strip_invisible,
    strip_reasoning,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris", "Paris"),
        ("coined byMichael Buffer, of27 seasons1.", "coined by Michael Buffer, of 27 seasons 1."),
        ("in theUnited States1", "in the United States 1"),
        ("McDonald's in iPhone, H2O, mp3, a4, TOKYO2020", "McDonald's in iPhone, H2O, mp3, a4, TOKYO2020"),
        ("P\u200ba\u2060r\u00adi\ufeffs", "Paris"),
        ("P\u200da\u200dris", "Paris"),
        ("Rome\U000e0050\U000e0061\U000e0072\U000e0069\U000e0073", "Rome"),
        ("Ｐａｒｉｓ\u3000７", "Paris 7"),
        ("Раris", "Paris"),
        ("Α.Β.", "A.B."),
        ("Paris\b\b\b\b\bRome", "Rome"),
        ("\b\bRome", "Rome"),
        ("Rome <!-- Paris -->", "Rome "),
        ("Rome\n[//]: # (Paris)", "Rome\n"),
        ("[comment]: <> (Paris)\nRome", "\nRome"),
        # Unchanged: similar, but legitimate.
        ("Москва", "Москва"),
        ("Сорок", "Сорок"),
        ("x² + ½", "x² + ½"),
        ("Ελλάδα", "Ελλάδα"),
        ("a <!-- b", "a <!-- b"),
        ("[1]: #heading", "[1]: #heading"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("👩‍🚀"[0], "👩"),
        ("naïve Žižek Ångström", "naïve Žižek Ångström"),
        ("東京、大阪", "東京、大阪"),
        ("", ""),
    ],
)
def test_normalize_text(text: str, expected: str) -> None:
    assert normalize_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), (" \n\t", True), ("…", True), ("?!", True), ("—", True), ("a", False), ("7", False), ("√", False), ("東", False)],
)
def test_is_blank(text: str, expected: bool) -> None:
    assert is_blank(text) is expected


def test_punctuation_can_answer_a_question_about_punctuation() -> None:
    assert is_blank_answer("?", ["a question mark"])
    assert not is_blank_answer("?", ["?", "a question mark"])
    assert is_blank_answer("?", ["", "a question mark"])


def without_spaces(text: str) -> str:
    return text.replace(" ", "")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\b"), max_size=80))
def test_plain_text_keeps_everything_but_spaces(text: str) -> None:
    if "<!--" not in text and "]:" not in text:
        assert without_spaces(normalize_text(text)) == without_spaces(text)
        assert normalize_text(text) == text or any(character.isdigit() or character.isupper() for character in text)


@given(st.text(max_size=80))
def test_no_text_gains_letters(text: str) -> None:
    assert len(without_spaces(normalize_text(text))) <= len(without_spaces(text))


def test_references_and_candidates_are_normalized_alike() -> None:
    references, candidates = normalize_inputs(["?", "?"], ["Вера", ["Ｐaris"]], ["Вера", "Pa\u200bris"])
    assert references[0] == [candidates[0]]
    assert references[1] == [candidates[1]]


@pytest.mark.parametrize(
    ("references", "candidate", "message"),
    [
        (None, "Rome", "row 0: the reference is None, not a text"),
        (5, "5", "row 0: the reference is 5, not a text"),
        (["Paris", None], "Paris", "row 0: the reference is None, not a text"),
        ("Paris", None, "row 0: the candidate is None, not a text"),
        ("Paris", ["Paris"], r"row 0: the candidate is \['Paris'\], not a text"),
    ],
)
def test_a_value_that_is_no_text_is_refused(references: Any, candidate: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        normalize_inputs(["?"], [references], [candidate])


def test_strip_invisible_removes_joiners_too() -> None:
    assert strip_invisible("Ver\u200dd\u200bi\u00adct\u3164: \ufff9correct\U000e0041") == "Verdict: correct"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>Paris", "Paris"),
        ("<think>Final answer: 1</think> x </think> Paris", " Paris"),
        ("no end of a start</thinking>Rome", "Rome"),
        ("[THINK]hm[/THINK]Rome", "Rome"),
        ("◁think▷hm◁/think▷Rome", "Rome"),
        ("<seed:think>hm</seed:think>Rome", "Rome"),
        ("<Thought>hm</Thought>Rome", "Rome"),
        ("<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Rome<|END_RESPONSE|>", "Rome"),
        ("<|begin_of_thought|>hm<|end_of_thought|><|begin_of_solution|>Rome<|end_of_solution|>", "Rome"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Rome<|return|>", "Rome"),
        ("<|channel|>analysis<|message|>hm<|end|><|channel|>final <|constrain|>json<|message|>Rome", "Rome"),
        ("analysisWe think.assistantfinalRome", "Rome"),
        ("Here are my reasoning steps:\nhm\n[BEGIN FINAL RESPONSE]\nRome\n[END FINAL RESPONSE]", "\nRome\n"),
        ("Here is my thought process: hm\nHere is my response: Rome", " Rome"),
        ("<answer>B</answer><reasoning>It is sweet.</reasoning>", "<answer>B</answer>"),
        ("<|im_start|>assistant\nRome<|im_end|>\n<|im_start|>user\nAnd Oslo?", "\nRome"),
        ("Rome</s></s>", "Rome"),
        ("The token <|endoftext|>, for example", "The token <|endoftext|>, for example"),
        ("analysis of the data", "analysis of the data"),
        ("Paris", "Paris"),
        ("", ""),
        ("<think>still at it", None),
        ("<think>a</think>b <think>c", None),
        ("<seed:think>hm", None),
        ("<|START_THINKING|>hm", None),
        ("<|channel|>analysis<|message|>hm", None),
        ("analysisWe think", None),
        ("Here are my reasoning steps:\nhm", None),
        ("<antThinking>no</antThinking>yes", "yes"),
        ("<reasoning_content>no</reasoning_content>yes", "yes"),
        ('<thinking mode="deep">no', None),
        ("<|reasoning_start|>no<|reasoning_end|>yes", "yes"),
        ("[THOUGHT]no", None),
        ("yes <reason for the choice>", "yes <reason for the choice>"),
        ("assistant\n\nyes", "yes"),
    ],
)
def test_strip_reasoning(text: str, expected: str | None) -> None:
    assert strip_reasoning(text) == expected
