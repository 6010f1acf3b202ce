"""Texts of any length and content as they can stand on a page."""

from __future__ import annotations

from collections.abc import Sequence

# Longer texts are shown by their beginning and end: the verdict often hangs on the last sentence.
HEAD, TAIL = 3000, 1500
# Characters that HTML forbids or hides, as their visible pictures.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


def shown(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Long texts lose their middle, controls become visible."""
    if len(text) > head + tail:
        text = f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"
    return text.translate(CONTROLS)


def room(lengths: Sequence[int], budget: int, most: int = HEAD + TAIL) -> int:
    """Characters of each text so that all together stay within the budget: short ones whole, long ones cut to this length."""
    left, count = budget, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return min(most, left // count)
        left, count = left - length, count - 1
    return most
