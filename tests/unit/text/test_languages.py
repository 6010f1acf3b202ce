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


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        # Symbols, formulas and code are no words.
        ("Formula?", "KE = 1/2 mv^2", "KE = 1/2 mv^2, KE = p^2/2m"),
        ("Slope and intercept?", "y = mx + c", "y = m x + c"),
        ("Salts?", "Na, Si, Ni", "Na, Si, Cu"),
        ("Reaction?", "Na + Cl → NaCl", "2 Na + Cl2 → 2 NaCl"),
        ("Derivative?", "sinh x", "sinh(x) = cosh x, sinh"),
        ("Ohm?", "V = IR", "V = I R"),
        ("Code?", "import os", "import os, sys; os.path"),
        ("Site?", "com", "www.example.com, foo.com"),
        # Abbreviations and names are none of another language.
        ("AI stands?", "artificial intelligence", "AI: artificial intelligence; AI"),
        ("Leader?", "Kim Jong Un", "Kim Jong Un, son of Kim Jong Il"),
        ("Painter?", "Vincent van Gogh", "Van Gogh, Vincent van Gogh"),
        ("City?", "Los Angeles", "Los Angeles, El Paso, Las Vegas"),
        ("Film?", "Die Hard", "Die Hard, Die Hard 2"),
        ("Movement?", "Sturm und Drang", "Sturm und Drang"),
        # One word, however often.
        ("Which war ended slavery?", "Civil War", "civil war"),
        ("War?", "the war", "World war one, a war"),
        ("Era before?", "Jurassic era", "era: Jurassic"),
        ("Already seen?", "déjà vu", "déjà vu"),
        ("Dish?", "jalapeño", "jalapeño poppers, jalapeño"),
    ],
)
def test_short_english_rows_are_familiar(question: str, reference: str, answer: str) -> None:
    assert unfamiliar_row(question, (reference,), answer, ["en"]) is None


@pytest.mark.parametrize(
    ("question", "reference", "answer"),
    [
        ("Wer war Kant?", "Ein Philosoph", "Er war ein Philosoph."),
        ("Hauptstadt?", "Paris", "Das ist Paris."),
        ("Qui est Kant ?", "un philosophe", "C'est un philosophe."),
        ("¿Quién fue Kant?", "un filósofo", "Fue un filósofo."),
        ("QUIÉN FUE KANT", "UN FILÓSOFO", "FUE UN FILÓSOFO DEL NORTE"),
        ("Kdo byl Kant?", "filozof", "Byl filozof."),
        ("Siapa Kant?", "seorang filsuf", "Dia adalah filsuf."),
        ("Onko tämä normaalia?", "ihan normaalia", "Onko tämä ihan normaalia?"),
        ("Wann zog er um?", "1887", "1876 zog er nach Texas, und 1887 nach San Diego."),
    ],
)
def test_short_rows_of_other_languages_are_not(question: str, reference: str, answer: str) -> None:
    assert unfamiliar_row(question, (reference,), answer, ["en"]) == UNKNOWN_LANGUAGE


def test_formulas_hide_no_other_script() -> None:
    text = r"函数 $f(x)=\ln(a-x)+\frac{1}{x}$ 的极值点, $y=x f(x)$, $\sin \theta + \cos \theta$"
    assert unfamiliar_text(text, ["en"]) == UNKNOWN_SCRIPT
    assert unfamiliar_text(r"The function $\alpha\beta\gamma\delta = x$", ["en"]) is None


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
