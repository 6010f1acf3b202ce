r"""Boxed answers in LaTeX, with nested braces."""

import re
from typing import NamedTuple

from bert_judge.text.reading import view

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*+(?:\{|([A-Za-z0-9]))")
_TOKEN = re.compile(rf"{_BOX.pattern}|\\.|[{{}}]", re.DOTALL)
_SPACE = r"(?:[\s$~]|\\[()\[\],;! ])*+"
# Between two boxes that are one answer: "\boxed{1} and \boxed{2}", "$\boxed{1}$, $\boxed{2}$", "x = \boxed{1}, y = \boxed{2}".
_AND = r"(?:\\text\s?\{\s?)?\b(?:and|or|y|et|und)\b\s?\}?|[和或]"
_JOINT = re.compile(rf"(?:{_SPACE}(?:[,;、&]|\\q?quad\b|{_AND})){{1,4}}{_SPACE}(?:[a-z](?:_\d)? ?= ?)?{_SPACE}")


class Box(NamedTuple):
    """A box from the start of its command to the end of its brace, and its content."""

    start: int
    content: str
    end: int


@view
def boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{…}`, with balanced braces; None without a box, or if the last one is not closed.

    Boxes joined by a comma or by "and" are one answer: "1, 2".
    """
    boxes = find_boxes(text)
    # An empty box behind the answer is none.
    boxes = [box for box in boxes if box.content] or boxes
    if not boxes:
        return None
    joined = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if not _JOINT.fullmatch(text, box.end, joined[-1].start):
            break
        joined.append(box)
    return ", ".join(dict.fromkeys(box.content for box in reversed(joined) if box.content)) or None


@view
def find_boxes(text: str) -> list[Box]:
    """Return the outermost closed boxes in order, in one pass; none if the last box is not closed."""
    if "box" not in text:
        return []
    boxes: list[Box] = []
    # For every open brace, the start of its box and of its content; None if it opens no box.
    open_braces: list[tuple[int, int] | None] = []
    for token in _TOKEN.finditer(text):
        if token[1]:
            boxes.append(Box(token.start(), token[1], token.end()))
        elif token[0] == "}":
            if open_braces and (box := open_braces.pop()):
                while boxes and boxes[-1].start > box[0]:
                    boxes.pop()
                boxes.append(Box(box[0], text[box[1] : token.start()].strip(), token.end()))
        elif token[0][-1] == "{" and token[0] != r"\{":
            open_braces.append((token.start(), token.end()) if token[0] != "{" else None)
    unclosed = max((box[0] for box in open_braces if box), default=-1)
    return [] if boxes and unclosed > boxes[-1].start else boxes
