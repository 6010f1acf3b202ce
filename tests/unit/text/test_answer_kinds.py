"""The kind of a row, by its reference."""

import pytest

from bert_judge.text.answer_kinds import KINDS, answer_kind


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("Paris", "names"),
        ("Johann Wolfgang von Goethe", "names"),
        ("The Lord of the Rings", "names"),
        ("42", "numbers"),
        ("$3.5 million", "numbers"),
        ("12 km/h", "numbers"),
        ("yes", "short facts"),
        ("B", "short facts"),
        ("a red giant", "short facts"),
        ("The heart pumps blood through the body.", "sentences"),
        ("def add(a, b):\n    return a + b", "code"),
        ("SELECT name FROM users WHERE id = 3", "code"),
        ('{"city": "Paris"}', "code"),
        ("Import taxes on steel rise", "short facts"),
        ("word " * 41, "long answers"),
        ("Die Hauptstadt von Frankreich ist die Stadt Paris und nicht Lyon", "languages"),
        ("東京", "languages"),
    ],
)
def test_kind(reference: str, kind: str) -> None:
    assert answer_kind("", [reference], reference) == kind and kind in KINDS
