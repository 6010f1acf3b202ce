"""Compute content-based identifiers of samples, pairs and questions."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

# A line that offers one answer: "(A) Paris", "A. Paris" or "A) Paris".
OPTION_LINE = re.compile(r"\s*(?:\(([A-Z])\)|([A-Z])[.)])(?:\s|$)")
# Different references of one question; the options of a question may differ, so a few are normal.
MAX_REFERENCES = 20


def sample_id(task: str, question: str, references: Iterable[str]) -> str:
    """Return the identifier of a sample: 16 hex digits of a hash of its content."""
    text = json.dumps([task, question, list(references)], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_content(path: Path) -> dict[str, str | int]:
    """Return size and SHA-256 of a file; a file that only looks older or newer has the same."""
    status = path.stat()
    # The time of the last change of its entry, unlike that of its content, cannot be set.
    return {"bytes": status.st_size, "sha256": _hash_file(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))}


@lru_cache(maxsize=1024)
def _hash_file(path: Path, version: tuple[int, int, int]) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def pair_id(sample_id: str, model_a: str | None, model_b: str | None, answer_a: str, answer_b: str) -> str:
    """Return the identifier of a pair: 16 hex digits of a hash of its content. The swapped pair has another one."""
    text = json.dumps([sample_id, model_a, model_b, answer_a, answer_b], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_key(question: str) -> str:
    """Return the identifier of a question across tasks; case and white space are ignored."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_stem(question: str) -> str:
    """Remove the option lines at the end of a question, so that a question with other options has the same stem.

    Options are at least two lines lettered from A without gaps; every option except the last may span several lines. A question
    that consists of options only is its own stem.
    """
    lines = question.rstrip().split("\n")
    expected_letter: str | None = None
    for index in range(len(lines) - 1, 0, -1):
        option = OPTION_LINE.match(lines[index])
        letter = (option[1] or option[2]) if option else None
        if expected_letter is None and (letter is None or letter == "A"):
            break
        if expected_letter is not None and letter != expected_letter:
            continue
        if letter == "A":
            return "\n".join(lines[:index]).rstrip() or question
        expected_letter = chr(ord(str(letter)) - 1)
    return question


def item_keys(questions: Sequence[str], references: Sequence[Iterable[str]]) -> list[str]:
    """Return per row of a table the identifier of what it asks, 16 hex digits, shape (n,): splits keep rows of one key together.

    It is the key of the question's stem. A stem with more than `MAX_REFERENCES` different references in the table is an
    instruction ("Summarise the meeting."), which says nothing about the item: then the references count too.
    """
    stems = {question: question_key(question_stem(question)) for question in set(questions)}
    texts = [json.dumps(list(row), ensure_ascii=False) for row in references]
    texts_of_stem = defaultdict(set)
    for question, text in zip(questions, texts, strict=True):
        texts_of_stem[stems[question]].add(text)
    instructions = {stem for stem, distinct in texts_of_stem.items() if len(distinct) > MAX_REFERENCES}
    return [
        question_key(stems[question] + text) if stems[question] in instructions else stems[question]
        for question, text in zip(questions, texts, strict=True)
    ]


def question_point(question: str) -> float:
    """Map the question's stem to a point in [0, 1]; equal in every file, so splits by it keep a question together."""
    return _point(question_key(question_stem(question)))


def item_points(questions: Sequence[str], references: Sequence[Iterable[str]]) -> list[float]:
    """Return the points of `item_keys` in [0, 1], shape (n,)."""
    return [_point(key) for key in item_keys(questions, references)]


def _point(key: str) -> float:
    return int(key, 16) / 16**16
