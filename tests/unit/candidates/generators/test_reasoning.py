"""Where thinking ends and the answer begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.candidates.generators.reasoning import Split, split, start_marker

CASES = [
    ("plain answer", "Paris.", False, Split(None, "Paris.", True)),
    ("nothing", "", False, Split(None, "", True)),
    ("block", "<think>hm</think>Paris.", False, Split("hm", "Paris.", True)),
    ("white space", "\n<think>\nhm\n</think>\n\nParis.\n", False, Split("hm", "Paris.", True)),
    ("empty block", "<think>\n\n</think>\n\nParis.", False, Split(None, "Paris.", True)),
    ("opened by the template", "hm</think>Paris.", True, Split("hm", "Paris.", True)),
    ("no start marker at all", "hm</think>Paris.", False, Split("hm", "Paris.", True)),
    ("unfinished", "<think>hm, Paris", False, Split("hm, Paris", "", False)),
    ("unfinished, opened by the template", "hm, Paris", True, Split("hm, Paris", "", False)),
    ("nothing, opened by the template", "", True, Split(None, "", False)),
    (
        "last marker wins",
        "<think>I write </think> when done</think>Paris.",
        False,
        Split("I write </think> when done", "Paris.", True),
    ),
    ("two blocks", "<think>a</think>Lyon<think>b</think>Paris.", False, Split("a</think>Lyon<think>b", "Paris.", True)),
    ("second block unfinished", "<think>a</think> <think>b", False, Split("a</think> <think>b", "", False)),
    ("closed, then nothing", "<think>a</think>", False, Split("a", "", True)),
    ("marker as a word of the answer", "HTML has no <think> tag.", False, Split(None, "HTML has no <think> tag.", True)),
    ("marker as a word after thinking", "<think>a</think>Use <think>.", False, Split("a", "Use <think>.", True)),
    ("not ASCII", "<think>東京</think>東京です。", False, Split("東京", "東京です。", True)),
]


@pytest.mark.parametrize(("text", "opened", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_split(text: str, opened: bool, expected: Split) -> None:
    assert split(text, "</think>", opened) == expected


@pytest.mark.parametrize(
    ("end", "start"),
    [("</think>", "<think>"), ("[/THINK]", "[THINK]"), ("◁/think▷", "◁think▷"), ("<|channel|>final<|message|>", None)],
)
def test_start_marker(end: str, start: str | None) -> None:
    assert start_marker(end) == start


def test_an_end_marker_without_known_start() -> None:
    assert split("analysis: hm<|final|>Paris.", "<|final|>") == Split("analysis: hm", "Paris.", True)
    assert split("Paris.", "<|final|>") == Split(None, "Paris.", True)


@given(st.text(), st.text(), st.booleans())
def test_the_answer_never_holds_an_end_marker(before: str, after: str, opened: bool) -> None:
    parts = split(f"{before}</think>{after}", "</think>", opened)
    assert "</think>" not in parts.answer
    assert parts.finished or parts.answer == ""
