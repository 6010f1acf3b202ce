"""The common form of imported answers, and helpers to build them from the records of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record


@dataclass(frozen=True)
class Answer:
    """A model's answer to a question.

    Attributes:
        question: may be empty.
        references: correct answers, at least one; any of them is correct.
        candidate: the raw answer, before any filter of the framework.
        model, task: names; empty if the file does not contain them.
        label: verdict of the file, 0 to 1; None if there is none.
        id: of the question in the file; empty if there is none.
        attempt: 0 for the first answer of the record, 1 for the second, …
    """

    question: str
    references: tuple[str, ...]
    candidate: str
    model: str = ""
    task: str = ""
    label: float | None = None
    id: str = ""
    attempt: int = 0


class SkippedRecord(Exception):
    """A valid record without an answer to judge, e.g. a choice by likelihood. The message gives the reason."""


# Returns the answers of a record, at least one. Raises `SkippedRecord`, or `values.UnreadableCell` for an invalid record.
RecordReader = Callable[[Record], Sequence[Answer]]


def make_column_reader(columns: Mapping[str, str], is_csv: bool = False) -> RecordReader:
    """Return a reader for rows with one answer each.

    Args:
        columns: `references` and `candidate`, and if known `question`, `model`, `task` and `label` → column of the file.
        is_csv: references in brackets are a JSON list.
    """

    def read_answers(record: Record) -> list[Answer]:
        def cell(name: str) -> Any:
            return record.get(columns[name]) if name in columns else None

        references = values.parse_texts(cell("references"), is_csv)
        if not references:
            raise values.UnreadableCell("no reference")
        return [
            Answer(
                values.parse_text(cell("question")),
                tuple(references),
                values.parse_text(cell("candidate")),
                values.parse_text(cell("model")).strip(),
                values.parse_text(cell("task")).strip(),
                values.parse_label(cell("label")),
            )
        ]

    return read_answers


def make_answers(references: Sequence[Any], candidates: Sequence[Any], **common: Any) -> list[Answer]:
    """Return several answers to one question.

    Args:
        references, candidates: unparsed texts.
        common: the other attributes, equal for all answers.

    Raises:
        values.UnreadableCell: no reference, no answer, or one that is not a text.
    """
    texts = tuple(dict.fromkeys(values.parse_texts(list(references))))
    if not texts:
        raise values.UnreadableCell("no reference")
    if not candidates:
        raise values.UnreadableCell("no answer")
    parsed = map(values.parse_text, candidates)
    return [Answer(references=texts, candidate=text, attempt=attempt, **common) for attempt, text in enumerate(parsed)]


def get_path(value: Any, *path: str | int) -> Any:
    """Return a member of nested objects and lists by its path; None if a step does not exist."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def letter_options(question: str, options: Sequence[str], correct: Sequence[int]) -> tuple[str, list[str]]:
    """Return a question with its options as lettered lines, and its references: letter and text of each correct option.

    Raises:
        values.UnreadableCell: no such option.
    """
    if not all(0 <= index < len(options) for index in correct):
        raise values.UnreadableCell(f"the correct option is {list(correct)} of {len(options)}")
    letters = [chr(ord("A") + index) for index in range(len(options))]
    lines = [f"({letter}) {option.strip()}" for letter, option in zip(letters, options, strict=True)]
    references = [form for index in correct for form in (letters[index], options[index].strip())]
    return "\n".join([question.rstrip(), *lines]), references
