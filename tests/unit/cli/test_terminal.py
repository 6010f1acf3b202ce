"""Texts in the output of the commands."""

import pytest

from bert_judge.cli.terminal import shorten


@pytest.mark.parametrize(
    ("text", "shortened"),
    [
        ("one line\n of words", "one line of words"),
        ("It should be noted that the capital is Paris", "It should be noted…"),
        # There is no good place.
        ("a Donaudampfschifffahrtsgesellschaft", "a Donaudampfschifff…"),
        ("東京都" * 10, "東京都" * 6 + "東…"),
    ],
)
def test_long_texts_are_cut_between_words(text: str, shortened: str) -> None:
    assert shorten(text, 20) == shortened and len(shortened) <= 20
