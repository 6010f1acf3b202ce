"""Shorten texts and make control characters visible, so that any text can be shown on a page."""

from __future__ import annotations

from collections.abc import Sequence

# Long texts keep their beginning and end: the verdict often depends on the last sentence.
HEAD, TAIL = 3000, 1500
# Control characters that HTML forbids or hides → their Unicode symbols.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


def display_text(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Cut the middle of a text longer than `head + tail` characters and replace control characters by visible symbols."""
    if len(text) > head + tail:
        text = f"{text[:head]}\n[… {len(text) - head - tail:,} characters omitted …]\n{text[-tail:]}"
    return text.translate(CONTROLS)


def max_text_length(lengths: Sequence[int], budget: int, limit: int = HEAD + TAIL) -> int:
    """Return the length to which texts must be cut so that their total stays within the budget of characters."""
    remaining, count = budget, len(lengths)
    for length in sorted(lengths):
        if length * count > remaining:
            return min(limit, remaining // count)
        remaining, count = remaining - length, count - 1
    return limit
