r"""Boxed answers in LaTeX, with nested braces."""

from __future__ import annotations

import re

BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?:\{|([A-Za-z0-9]))")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{…}`, with balanced braces; None without a box, or if the last one is not closed."""
    box = None
    for box in BOX.finditer(text):  # noqa: B007
        pass
    if box is None:
        return None
    if box[1]:
        return box[1]
    end = closing_brace(text, box.end())
    return text[box.end() : end].strip() or None if end else None


def closing_brace(text: str, start: int) -> int | None:
    """Return the index of the brace that closes the one just before `start`, or None."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    return None
