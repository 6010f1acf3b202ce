"""One answer, as every importer gives it: what was asked, what is right, what was said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bert_judge.importers import values

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
    """

    question: str
    references: tuple[str, ...]
    candidate: str
    model: str = ""
    task: str = ""
    label: float | None = None


class Skipped(Exception):
    """A record that holds no answer to judge, and need not: another filter's copy, a choice by likelihood. The text says why."""


# Makes an answer of a record; raises `Skipped`, or `values.Unreadable` for one that should hold an answer and does not.
Reader = Callable[[Record], Answer]


def of_columns(columns: Mapping[str, str], is_csv: bool = False) -> Reader:
    """A reader of plain rows.

    Args:
        columns: `references` and `candidate`, and where known `question`, `model`, `task` and `label` → the file's own column.
        is_csv: references in brackets are a JSON list.
    """

    def read(record: Record) -> Answer:
        def cell(name: str) -> Any:
            return record.get(columns[name]) if name in columns else None

        references = values.texts(cell("references"), is_csv)
        if not references:
            raise values.Unreadable("no reference")
        return Answer(
            values.text(cell("question")),
            tuple(references),
            values.text(cell("candidate")),
            values.text(cell("model")).strip(),
            values.text(cell("task")).strip(),
            values.share(cell("label")),
        )

    return read
