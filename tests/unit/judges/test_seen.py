"""What a person sees of a text, and that a judge sees no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.judges.visible_text import as_seen, blank, says_nothing, seen


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
        # What looks like one of these and is none stays.
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
def test_what_is_seen(text: str, expected: str) -> None:
    assert seen(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), (" \n\t", True), ("…", True), ("?!", True), ("—", True), ("a", False), ("7", False), ("√", False), ("東", False)],
)
def test_blank(text: str, expected: bool) -> None:
    assert blank(text) is expected


def test_a_mark_may_be_an_answer_where_a_mark_is_asked_for() -> None:
    assert says_nothing("?", ["a question mark"])
    assert not says_nothing("?", ["?", "a question mark"])
    assert says_nothing("?", ["", "a question mark"])


def without_spaces(text: str) -> str:
    return text.replace(" ", "")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\b"), max_size=80))
def test_plain_text_without_comments_is_left_alone_but_for_spaces(text: str) -> None:
    if "<!--" not in text and "]:" not in text:
        assert without_spaces(seen(text)) == without_spaces(text)
        assert seen(text) == text or any(character.isdigit() or character.isupper() for character in text)


@given(st.text(max_size=80))
def test_any_text_is_survived_and_gets_no_letter_more(text: str) -> None:
    assert len(without_spaces(seen(text))) <= len(without_spaces(text))


def test_both_sides_of_a_comparison_are_seen_alike() -> None:
    references, candidates = as_seen(["?", "?"], ["Вера", ["Ｐaris"]], ["Вера", "Pa\u200bris"])
    assert references[0] == [candidates[0]]
    assert references[1] == [candidates[1]]
