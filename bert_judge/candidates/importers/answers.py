"""One answer, as every importer gives it: what was asked, what is right, what was said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_judge.tables.readers import values

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """A model's answer to a question.

    Attributes:
        question: as far as the file tells; may be empty.
        references: right answers; any one of them is right. Never empty.
        candidate: the raw answer, before anybody's filter.
        model, task: names; empty where the file does not tell.
        label: somebody's verdict, 0 to 1; None where there is none.
        id: of the question in the file; empty where it has none.
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


class Skipped(Exception):
    """A record that holds no answer to judge, and need not: another filter's copy, a choice by likelihood. The text says why."""


# Returns the answers of a record, at least one; raises `Skipped`, or `values.UnreadableCell` for an invalid record.
Reader = Callable[[Record], Sequence[Answer]]


def of_columns(columns: Mapping[str, str], is_csv: bool = False) -> Reader:
    """A reader of plain rows.

    Args:
        columns: `references` and `candidate`, and where known `question`, `model`, `task` and `label` → the file's own column.
        is_csv: references in brackets are a JSON list.
    """

    def read(record: Record) -> list[Answer]:
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

    return read


def repeated(references: Sequence[str], candidates: Sequence[Any], **same: Any) -> list[Answer]:
    """Several answers to one question.

    Args:
        references: of the question.
        candidates: texts, or what should be.
        same: the other parts, which all of them share.

    Raises:
        values.UnreadableCell: there is no reference or no answer, or one of them is no text.
    """
    right = tuple(dict.fromkeys(values.parse_texts(list(references))))
    if not right:
        raise values.UnreadableCell("no reference")
    if not candidates:
        raise values.UnreadableCell("no answer")
    return [Answer(references=right, candidate=values.parse_text(text), attempt=n, **same) for n, text in enumerate(candidates)]


def part(value: Any, *path: str | int) -> Any:
    """A part of nested objects and lists by its path; None where a step leads nowhere."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def lettered(question: str, options: Sequence[str], right: Sequence[int]) -> tuple[str, list[str]]:
    """A question with its options as lines, and its references: letter and text of each right option.

    Raises:
        values.UnreadableCell: there is no such option.
    """
    if not all(0 <= at < len(options) for at in right):
        raise values.UnreadableCell(f"the right option is {list(right)} of {len(options)}")
    lines = [f"({chr(ord('A') + at)}) {option.strip()}" for at, option in enumerate(options)]
    return "\n".join([question.rstrip(), *lines]), [form for at in right for form in (chr(ord("A") + at), options[at].strip())]
