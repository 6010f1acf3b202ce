"""Separation of reasoning and answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.candidates.generators.protocol import SplitText, split_reasoning, start_marker

CASES = [
    ("plain answer", "Paris.", False, SplitText(None, "Paris.", True)),
    ("nothing", "", False, SplitText(None, "", True)),
    ("block", "<think>hm</think>Paris.", False, SplitText("hm", "Paris.", True)),
    ("white space", "\n<think>\nhm\n</think>\n\nParis.\n", False, SplitText("hm", "Paris.", True)),
    ("empty block", "<think>\n\n</think>\n\nParis.", False, SplitText(None, "Paris.", True)),
    ("opened by the template", "hm</think>Paris.", True, SplitText("hm", "Paris.", True)),
    ("no start marker at all", "hm</think>Paris.", False, SplitText("hm", "Paris.", True)),
    ("unfinished", "<think>hm, Paris", False, SplitText("hm, Paris", "", False)),
    ("unfinished, opened by the template", "hm, Paris", True, SplitText("hm, Paris", "", False)),
    ("nothing, opened by the template", "", True, SplitText(None, "", False)),
    (
        "last marker wins",
        "<think>I write </think> when done</think>Paris.",
        False,
        SplitText("I write </think> when done", "Paris.", True),
    ),
    ("two blocks", "<think>a</think>Lyon<think>b</think>Paris.", False, SplitText("a</think>Lyon<think>b", "Paris.", True)),
    ("second block unfinished", "<think>a</think> <think>b", False, SplitText("a</think> <think>b", "", False)),
    ("closed, then nothing", "<think>a</think>", False, SplitText("a", "", True)),
    ("marker as a word of the answer", "HTML has no <think> tag.", False, SplitText(None, "HTML has no <think> tag.", True)),
    ("marker as a word after thinking", "<think>a</think>Use <think>.", False, SplitText("a", "Use <think>.", True)),
    ("not ASCII", "<think>東京</think>東京です。", False, SplitText("東京", "東京です。", True)),
]


@pytest.mark.parametrize(("text", "opened", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_split(text: str, opened: bool, expected: SplitText) -> None:
    assert split_reasoning(text, "</think>", opened) == expected


@pytest.mark.parametrize(
    ("end", "start"),
    [("</think>", "<think>"), ("[/THINK]", "[THINK]"), ("◁/think▷", "◁think▷"), ("<|channel|>final<|message|>", None)],
)
def test_start_marker(end: str, start: str | None) -> None:
    assert start_marker(end) == start


def test_end_marker_without_start_marker() -> None:
    assert split_reasoning("analysis: hm<|final|>Paris.", "<|final|>") == SplitText("analysis: hm", "Paris.", True)
    assert split_reasoning("Paris.", "<|final|>") == SplitText(None, "Paris.", True)


@given(st.text(), st.text(), st.booleans())
def test_answer_contains_no_end_marker(before: str, after: str, opened: bool) -> None:
    parts = split_reasoning(f"{before}</think>{after}", "</think>", opened)
    assert "</think>" not in parts.answer
    assert parts.finished or parts.answer == ""
