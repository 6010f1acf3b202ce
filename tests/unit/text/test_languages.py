"""Texts in other scripts and languages are recognised; English, formulas and code are not."""

from __future__ import annotations

import pytest

from bert_judge.text.languages import UNKNOWN_LANGUAGE, UNKNOWN_SCRIPT, unfamiliar_row, unfamiliar_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the capital of France? It is Paris.", None),
        ("Paris", None),
        ("", None),
        (r"\frac{1}{2} + x^2 = 3", None),
        ("def f(x): return x + 1", None),
        ("The word for water is 水.", None),
        ("日本の首都はどこですか？ 東京です。", UNKNOWN_SCRIPT),
        ("Какая столица Франции? Париж", UNKNOWN_SCRIPT),
        ("ما هي عاصمة فرنسا؟ باريس", UNKNOWN_SCRIPT),
        ("Was ist die Hauptstadt von Frankreich? Die Hauptstadt ist Paris und nicht Lyon.", UNKNOWN_LANGUAGE),
        ("¿Cuál es la capital de Francia? La capital es París y no es una ciudad del sur.", UNKNOWN_LANGUAGE),
        ("Quelle est la capitale de la France ? C'est Paris, qui est dans le nord.", UNKNOWN_LANGUAGE),
        ("Who wrote 'Die Leiden des jungen Werthers'? It was written by Goethe.", None),
        ("Jaké je hlavní město Francie? Paříž. Je to Paříž.", UNKNOWN_LANGUAGE),
        ("Kto napísal Hamleta? Napísal ho Shakespeare v roku 1600.", UNKNOWN_LANGUAGE),
        ("Ile nóg ma pająk? Osiem. Pająk ma osiem nóg.", UNKNOWN_LANGUAGE),
        ("Kuka kirjoitti Hamletin? Sen kirjoitti William Shakespeare.", UNKNOWN_LANGUAGE),
        ("Hamlet'i kim yazdı? William Shakespeare yazdı.", UNKNOWN_LANGUAGE),
        ("Hány lába van egy póknak? Nyolc. Egy póknak nyolc lába van.", UNKNOWN_LANGUAGE),
        ("Nhện có bao nhiêu chân? Tám. Nhện có tám chân.", UNKNOWN_LANGUAGE),
        ("Siapa yang menulis Hamlet? Hamlet ditulis oleh William Shakespeare.", UNKNOWN_LANGUAGE),
        ("Nani aliandika Hamlet? Iliandikwa na William Shakespeare.", UNKNOWN_LANGUAGE),
        ("Cine a scris Hamlet? A fost scris de Shakespeare.", UNKNOWN_LANGUAGE),
        ("Vad är Frankrikes huvudstad? Paris. Det är Paris.", UNKNOWN_LANGUAGE),
        # Names and words of other languages in English.
        ("Who directed La La Land? Damien Chazelle. La La Land", None),
        ("Who composed the New World Symphony? Antonín Dvořák. Antonín Dvořák", None),
        ("What is crème brûlée? A dessert. Crème brûlée is a dessert.", None),
        ("Where is Los Angeles? California. Los Angeles, California", None),
        ("Let $x,$ $y,$ and $z$ be positive. Find x + y + z. 2. y = 1", None),
        ("Can they fly? No. No, no bird does.", None),
    ],
)
def test_text_is_familiar(text: str, expected: str | None) -> None:
    assert unfamiliar_text(text, ["en"]) == expected


def test_unknown_training_languages_flag_nothing() -> None:
    assert unfamiliar_text("日本の首都はどこですか？", []) is None


def test_a_script_of_a_training_language_is_familiar() -> None:
    assert unfamiliar_text("法国的首都是哪里？巴黎。", ["en", "zh"]) is None
    assert unfamiliar_text("Какая столица Франции? Париж", ["en", "zh"]) == UNKNOWN_SCRIPT


@pytest.mark.parametrize(
    ("references", "answer", "expected"),
    [
        (["Москва"], "Moscow", UNKNOWN_SCRIPT),
        (["東京"], "Tokyo", UNKNOWN_SCRIPT),
        (["Athens"], "Αθήνα", UNKNOWN_SCRIPT),
        (["Moscow", "Москва"], "It is Moscow.", None),
        (["α"], "β", None),
        (["πr²"], "2πr", None),
        (["Moscow"], "Moscow (Москва)", None),
    ],
)
def test_the_answer_or_all_references_may_be_in_another_script(references: list[str], answer: str, expected: str | None) -> None:
    assert unfamiliar_row("What is the capital of this country?", references, answer, ["en"]) == expected
    assert unfamiliar_row("What is the capital of this country?", references, answer, []) is None


def test_words_with_marks_say_nothing_to_a_judge_of_another_language_than_english() -> None:
    text = "Qual é a função? A função é polinômial, não é contínua."
    assert unfamiliar_text(text, ["en", "pt"]) is None and unfamiliar_text(text, ["en"]) == UNKNOWN_LANGUAGE


@pytest.mark.parametrize("text", ["π²/6", "σ²", "χ² = 4", "λ₁"])
def test_an_exponent_makes_no_letter_of_another_script(text: str) -> None:
    assert unfamiliar_row("What is it?", (text,), text, ["en"]) is None
