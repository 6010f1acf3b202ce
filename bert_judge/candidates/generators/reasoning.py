"""A reasoning model's text is its thinking, an end marker, and its answer; only the answer is a candidate."""

from __future__ import annotations

from typing import NamedTuple


class Split(NamedTuple):
    """The parts of a completion.

    Attributes:
        reasoning: the thinking without its markers; None when there is none.
        answer: what follows; empty while the thinking is unfinished.
        finished: False when thinking was opened and not closed.
    """

    reasoning: str | None
    answer: str
    finished: bool


def start_marker(end_marker: str) -> str | None:
    """What opens the block that `end_marker` closes (`</think>` → `<think>`); None when the name does not tell."""
    return end_marker.replace("/", "", 1) if "/" in end_marker else None


def split(text: str, end_marker: str, opened: bool = False) -> Split:
    """Cut a completion at its *last* end marker, since thinking may quote the marker or come in several blocks.

    Args:
        text: the completion.
        end_marker: what closes a reasoning block.
        opened: the prompt ended inside a reasoning block already, as some chat templates do.

    A start marker counts at the beginning of a completion, or right after the last end marker, and nowhere else: in the middle
    of an answer it is a word that the model uses.
    """
    start = start_marker(end_marker)
    before, found, after = text.rpartition(end_marker)
    if start is not None and after.lstrip().startswith(start):
        return Split(_without(text, start), "", False)
    if found:
        return Split(_without(before, start), after.strip(), True)
    if opened:
        return Split(_without(text, start), "", False)
    return Split(None, text.strip(), True)


def _without(text: str, start: str | None) -> str | None:
    text = text.strip()
    return (text.removeprefix(start).strip() if start else text) or None
