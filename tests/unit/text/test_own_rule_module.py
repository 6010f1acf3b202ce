"""The rule module of docs/extending.md."""

import re

import pytest

from bert_judge.text import rules
from bert_judge.text.extraction import unwrap
from bert_judge.text.reading import Task, view
from bert_judge.text.rules import Decision, Module

_COLOR = re.compile(r"#([0-9a-f]{6})|rgb\((\d+), ?(\d+), ?(\d+)\)", re.IGNORECASE)


@view
def read_color(text: str) -> str | None:
    """Return the six digits of a text that is a color: #FF0000, rgb(255, 0, 0)."""
    match = _COLOR.fullmatch(unwrap(text))
    return match and (match[1].lower() if match[1] else "".join(f"{int(number):02x}" for number in match.groups()[1:]))


def decide_color(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the answer is a color too."""
    expected, actual = read_color(reference), read_color(answer)
    return Decision(expected == actual, "color", f"#{actual}, #{expected}") if actual else None


COLORS = Module("color", decide_color, expects=read_color)


@pytest.mark.parametrize(
    ("reference", "answer", "correct"),
    [
        ("#ff0000", "The answer is: `rgb(255, 0, 0)`.", True),
        ("rgb(0, 0, 255)", "#0000FF", True),
        ("#ff0000", "#ff0010", False),
        ("#ff0000", "It is dark red, I think", None),
        ("dark red", "#ff0000", None),
    ],
)
def test_a_module_decides_about_the_references_that_it_expects(
    monkeypatch: pytest.MonkeyPatch, reference: str, answer: str, correct: bool | None
) -> None:
    monkeypatch.setattr(rules, "MODULES", (COLORS, *rules.MODULES))
    decision = rules.decide("Which color?", [reference], answer)
    assert (decision and decision.correct) is correct
    assert decision is None or decision.module == "color"


def test_a_module_is_not_asked_about_other_references(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        pytest.fail("asked")

    monkeypatch.setattr(rules, "MODULES", (COLORS._replace(decide=fail),))
    assert rules.decide("Which color?", ["dark red"], "#ff0000") is None
