"""Conversations with a reference per turn, and MT-Bench's files: each turn is a row.

A list of references as long as the conversation holds one per turn; otherwise it holds references of the last turn, any of which is
correct.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, no_reference_error
from bert_judge.importers.name_words import has_role_words, has_usual_name
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, open_rows
from bert_judge.tables.readers.values import get_path

# Columns of MT-Bench: of questions, and of a model's answers.
QUESTIONS, CHOICES, ID = "turns", "choices", "question_id"


class TurnReader:
    """Reader of conversations, whose questions and references may be in a second file with the same `question_id`."""

    def __init__(self, path: Path, references: Path | None) -> None:
        self.path = path
        rows = (record for _, record in open_rows(references).records()) if references else iter(())
        self.companions = {record.get(ID): {**record, "reference": _find_references(record) or _answers(record)} for record in rows}

    def __call__(self, record: Record) -> list[Answer]:
        companion = self.companions.get(record.get(ID), {})
        record = {**{name: companion[name] for name in (QUESTIONS, "reference") if companion.get(name)}, **record}
        if not (turns := list(_split_turns(record))):
            raise no_reference_error(self.path)
        model = next((cell for name, cell in record.items() if has_usual_name(name, "model")), None)
        identity = values.parse_text(record.get(ID))
        return [
            Answer(question, tuple(values.parse_texts(reference)), answer, values.parse_text(model), id=f"{identity}/{number}")
            for number, (question, reference, answer) in enumerate(turns, 1)
        ]


def are_conversations(sample: Sequence[Record]) -> bool:
    """Return whether all rows have as many references as turns, and some several, or are answers of MT-Bench."""
    if any(_answers(record) and not _find_references(record) for record in sample):
        return True
    counts = [sum(1 for _ in _split_turns(record)) for record in sample]
    return bool(counts) and all(counts) and max(counts) > 1


def _split_turns(record: Record) -> Iterator[tuple[str, Any, str]]:
    """Yield question, references and answer of each turn; nothing if their numbers differ."""
    messages = next((cell for name, cell in record.items() if _are_messages(cell) and not _has_references(name)), None)
    if messages is None:
        questions = _list_of(record, "question") or record.get(QUESTIONS)
        answers = _answers(record) or _list_of(record, "candidate")
    else:
        roles = [values.message_role(message) for message in messages]
        pairs = [
            places
            for places in pairwise(range(len(roles)))
            if [roles[place] for place in places] == [values.USER, values.ASSISTANT]
        ]
        questions, answers = [messages[user] for user, _ in pairs], [messages[assistant] for _, assistant in pairs]
    references = _find_references(record)
    if questions and answers and len(questions) == len(answers) == len(references):
        for question, reference, answer in zip(questions, references, answers, strict=True):
            yield values.parse_message(question, values.USER), reference, values.parse_message(answer, values.ASSISTANT)


def _find_references(record: Record) -> list[Any]:
    cell = next((cell for name, cell in record.items() if _has_references(name) and isinstance(cell, list)), [])
    return [message for message in cell if values.message_role(message) == values.ASSISTANT] if _are_messages(cell) else cell


def _answers(record: Record) -> list[Any]:
    """Return the turns of the first answer in a file of MT-Bench."""
    turns = get_path(record.get(CHOICES), 0, QUESTIONS)
    return turns if isinstance(turns, list) else []


def _list_of(record: Record, role: str) -> list[Any]:
    """Return the texts of a column with this role, if it holds several."""
    cells = [cell for name, cell in record.items() if has_usual_name(name, role)]
    return next((cell for cell in cells if isinstance(cell, list) and all(isinstance(text, str) for text in cell)), [])


def _has_references(name: str) -> bool:
    return has_usual_name(name, "references") or has_role_words(name, "references")


def _are_messages(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(map(values.is_message, cell))
