"""Passes of the normalisation, each alone on its example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.text import normalization
from bert_judge.text.normalization import CASED_PASSES, SEPARATING_PASSES, SYMBOL_PASSES, NormalizationPass, normalize_words

PROTECTED = {0x86 + position: mark for position, mark in enumerate(".-/+#*!'()[]{}^")}
PASSES = (*CASED_PASSES, *SEPARATING_PASSES, *SYMBOL_PASSES)


@pytest.mark.parametrize("step", PASSES, ids=lambda step: step.name)
def test_a_pass_changes_its_example(step: NormalizationPass) -> None:
    assert step.condition is None or step.condition(step.example)
    changed = step.apply(step.example)
    assert changed != step.example
    assert changed.translate(PROTECTED) == step.result


def test_passes_have_different_names() -> None:
    assert len({step.name for step in PASSES}) == len(PASSES)


@given(st.text(st.characters(max_codepoint=0x300)))
def test_texts_of_one_byte_per_character_are_separated_alike(text: str) -> None:
    assert normalization._separate(text) == text.translate(normalization._SEPARATORS)


@pytest.mark.parametrize("mark", [chr(code) for code in PROTECTED])
def test_a_control_character_in_a_text_is_no_symbol(mark: str) -> None:
    assert normalize_words(f"x{mark}y") == ["x", "y"]


def test_words_of_a_text_are_a_new_list_each_time() -> None:
    normalize_words("Mont Blanc").append("x")
    assert normalize_words("Mont Blanc") == ["mont", "blanc"]
