"""What makes a sample or a question the same one, wherever it turns up."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

# A line that offers one answer: "(A) Paris", "A. Paris" or "A) Paris".
OPTION_LINE = re.compile(r"\s*(?:\(([A-Z])\)|([A-Z])[.)])(?:\s|$)")


def sample_id(task: str, question: str, references: Iterable[str]) -> str:
    """Identity of a sample: 16 hex digits that depend on its content only."""
    text = json.dumps([task, question, list(references)], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_key(question: str) -> str:
    """Identity of a question over tasks: case and white space do not count."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_stem(question: str) -> str:
    """The question without its option lines at the end, so that one question asked with other options is still the same question.

    Options are lines lettered from A on without a gap, at least two; an option but the last may go on over further lines. A
    question whose lines all belong to options is its own stem.
    """
    lines = question.rstrip().split("\n")
    wanted: str | None = None
    for at in range(len(lines) - 1, 0, -1):
        option = OPTION_LINE.match(lines[at])
        letter = (option[1] or option[2]) if option else None
        if wanted is None and (letter is None or letter == "A"):
            break
        if wanted is not None and letter != wanted:
            continue
        if letter == "A":
            return "\n".join(lines[:at]).rstrip() or question
        wanted = chr(ord(str(letter)) - 1)
    return question


def question_point(question: str) -> float:
    """A fixed point in [0, 1] for the question's stem: the same in every file, so a split by it never parts a question."""
    return int(question_key(question_stem(question)), 16) / 16**16
