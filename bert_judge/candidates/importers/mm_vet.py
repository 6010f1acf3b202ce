"""Answers to MM-Vet's questions about images, judged by question, accepted references and text alone, as JudgeLM does.

Two forms: a model's answers, a JSON object of id and text (`v1_0`, `v1_1`, …; v2 has `v2_0`), with the questions in a second file
(`mm-vet.json`); and JudgeLM's judge samples, JSONL with question, accepted answers and `answer1_body` in a line.

In an accepted answer `<OR>` separates synonyms and `<AND>` parts that are all required; `<AND>` binds tighter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bert_judge.candidates.importers.answers import Answer
from bert_judge.candidates.importers.judgelm import numbered_answers
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.containers import sniff
from bert_judge.tables.readers.disk_map import DiskMap
from bert_judge.tables.readers.json_documents import iterate_object, top_level_keys
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows

SAMPLE_KEYS = frozenset({"imagename", "question", "answer", "answer1_body"})
TASK = "mm_vet"
_ID = re.compile(r"v\d+_\d+")
_OR, _AND = re.compile(r"<or>", re.IGNORECASE), re.compile(r"<and>", re.IGNORECASE)


def has_keys(keys: Sequence[str]) -> bool:
    """Return whether these are the keys of an object of answers by id."""
    return bool(keys) and all(_ID.fullmatch(key) for key in keys)


def split_accepted(answer: str) -> list[str]:
    """Return the references in an accepted answer.

    >>> split_accepted("1.25 <OR> 5/4")
    ['1.25', '5/4']
    >>> split_accepted("-1 <AND> -5")
    ['-1 and -5']
    """
    synonyms = [" and ".join(member.strip() for member in _AND.split(synonym) if member.strip()) for synonym in _OR.split(answer)]
    return list(dict.fromkeys(filter(None, synonyms)))


class MMVetReader:
    """Reader of the records of one file; the file name is the model if the record does not name one."""

    def __init__(self, path: Path) -> None:
        self.model = path.stem

    def __call__(self, record: Record) -> list[Answer]:
        references = tuple(split_accepted(values.parse_text(record.get("answer"))))
        if not references:
            raise values.UnreadableCell("no reference")
        question = values.parse_text(record.get("question"))
        identity = next(filter(None, (values.parse_text(record.get(key)) for key in ("id", "question_id", "imagename"))), "")
        return [
            Answer(question, references, text, model or (self.model if number == 1 else f"answer{number}"), TASK, None, identity)
            for number, text, model in numbered_answers(record)
        ]


def read_records(path: Path, questions: Path | None) -> Iterator[LocatedRecord]:
    """Yield location and content of each record.

    Args:
        questions: `mm-vet.json`, for a file of answers by id.

    Raises:
        InputError: a file is invalid, or an answer has no question.
    """
    if sniff(path).format != "json" or not has_keys(top_level_keys(path)):
        yield from open_rows(path).records()
        return
    if questions is None:
        raise InputError(f"{path}: contains answers only; name MM-Vet's file of questions (mm-vet.json) with --references")
    members = enumerate(iterate_object(questions), 1)
    questions_by_id = DiskMap(questions, "question", ((f"item {number}", identity, value) for number, (identity, value) in members))
    for identity, text in iterate_object(path):
        if not isinstance(text, str | None):
            raise InputError(f"{path}: {identity} is not a text; give a file of answers by id, not the questions")
        question = questions_by_id.get(identity)
        if not isinstance(question, Mapping):
            raise InputError(f"{questions}: has no question {identity!r}, which {path} answers; fix the file")
        yield identity, {**question, "id": identity, "answer1_body": text}
