"""Separation of a reasoning model's thinking from its answer; only the answer is a candidate."""

from __future__ import annotations

from typing import NamedTuple


class SplitText(NamedTuple):
    """The parts of a completion.

    Attributes:
        reasoning: the thinking without its markers; None if there is none.
        answer: the text after it; empty while the thinking is unfinished.
        finished: False if the thinking was opened and not closed.
    """

    reasoning: str | None
    answer: str
    finished: bool


def start_marker(end_marker: str) -> str | None:
    """Return the marker that opens the block closed by `end_marker` (`</think>` → `<think>`); None if it cannot be derived."""
    return end_marker.replace("/", "", 1) if "/" in end_marker else None


def split_reasoning(text: str, end_marker: str, in_reasoning: bool = False) -> SplitText:
    """Split a completion at its *last* end marker, since thinking may quote the marker or come in several blocks.

    A start marker counts only at the beginning of the completion or right after the last end marker: in the middle of an answer
    it is ordinary text.

    Args:
        end_marker: text that closes a reasoning block.
        in_reasoning: the prompt already ended inside a reasoning block, as with some chat templates.
    """
    start = start_marker(end_marker)
    before, marker, after = text.rpartition(end_marker)
    if start is not None and after.lstrip().startswith(start):
        return SplitText(_strip_marker(text, start), "", False)
    if marker:
        return SplitText(_strip_marker(before, start), after.strip(), True)
    if in_reasoning:
        return SplitText(_strip_marker(text, start), "", False)
    return SplitText(None, text.strip(), True)


def _strip_marker(text: str, start: str | None) -> str | None:
    text = text.strip()
    return (text.removeprefix(start).strip() if start else text) or None
