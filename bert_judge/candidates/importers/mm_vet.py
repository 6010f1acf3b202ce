"""Answers to MM-Vet's questions about images, judged by question, accepted references and text alone, as JudgeLM does.

Two forms: a model's answers, a JSON object of id and text (`v1_0`, `v1_1`, …; v2 has `v2_0`), with the questions in a second file
(`mm-vet.json`); and JudgeLM's judge samples, JSONL with question, accepted answers and `answer1_body` in a line.

In an accepted answer `<OR>` parts synonyms and `<AND>` what must all be said; `<AND>` binds tighter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats, values
from bert_judge.tables.readers.disk_map import OnDisk
from bert_judge.tables.readers.streams import open_rows

SAMPLE_KEYS = frozenset({"imagename", "question", "answer", "answer1_body"})
TASK = "mm_vet"
_ID = re.compile(r"v\d+_\d+")
_OR, _AND = re.compile(r"<or>", re.IGNORECASE), re.compile(r"<and>", re.IGNORECASE)
CHUNK_ROWS = 1024


def recognises(keys: Iterable[str]) -> bool:
    """Whether a JSON document with these keys is an object of MM-Vet's ids."""
    found = list(keys)
    return bool(found) and all(_ID.fullmatch(key) for key in found)


def accepted(answer: str) -> list[str]:
    """The references that an accepted answer stands for.

    >>> accepted("1.25 <OR> 5/4")
    ['1.25', '5/4']
    >>> accepted("-1 <AND> -5")
    ['-1 and -5']
    """
    synonyms = [" and ".join(part.strip() for part in _AND.split(synonym) if part.strip()) for synonym in _OR.split(answer)]
    return list(dict.fromkeys(filter(None, synonyms)))


class Reader:
    """Reads the records of one file; the model has the file's name where the record tells none."""

    def __init__(self, path: Path) -> None:
        self.model = path.stem

    def __call__(self, record: Record) -> list[Answer]:
        references = tuple(accepted(values.parse_text(record.get("answer"))))
        if not references:
            raise values.UnreadableCell("no reference")
        question = values.parse_text(record.get("question"))
        identity = (
            values.parse_text(record.get("id"))
            or values.parse_text(record.get("question_id"))
            or values.parse_text(record.get("imagename"))
        )
        found: list[Answer] = []
        while (said := record.get(f"answer{len(found) + 1}_body")) is not None:
            number = len(found) + 1
            model = values.parse_text(record.get(f"answer{number}_model_id")) or (self.model if number == 1 else f"answer{number}")
            found.append(Answer(question, references, values.parse_text(said), model, TASK, None, identity))
        if not found:
            raise values.UnreadableCell("no answer1_body")
        return found


def records(path: Path, questions: Path | None) -> Iterator[tuple[str, Record]]:
    """Place and content of each record.

    Args:
        questions: `mm-vet.json`, for a file of answers alone.

    Raises:
        InputError: a file cannot be read, or the answers are to other questions.
    """
    if path.suffix.lower() != ".json":
        for chunk in open_rows(path).chunks(CHUNK_ROWS):
            yield from zip(chunk.places, chunk.records, strict=True)
        return
    if questions is None:
        raise InputError(f"{path}: holds answers alone; name MM-Vet's file of questions (mm-vet.json) with --references")
    members = enumerate(_members(questions), 1)
    asked = OnDisk(questions, "question", ((f"item {number}", identity, member) for number, (identity, member) in members))
    for identity, said in _members(path):
        if not isinstance(said, str | None):
            raise InputError(f"{path}: {identity} is no text; this is a file of answers by id, not the questions themselves")
        question = asked.get(identity)
        if not isinstance(question, Mapping):
            raise InputError(f"{questions}: has no question {identity!r}, which {path} answers; name the questions that were asked")
        yield identity, {**question, "id": identity, "answer1_body": said}


def _members(path: Path) -> Iterator[tuple[str, Any]]:
    """The members of a JSON object, one at a time."""
    # Only here: the workflow is read without it.
    import ijson

    with formats.damage_told(path, "JSON"), path.open("rb") as stream:
        try:
            yield from ijson.kvitems(stream, "", use_float=True)
        except ijson.JSONError as error:
            reason = " ".join(str(error).split("\n", 1)[0].split())
            raise InputError(f"{path}: not a whole JSON file ({reason}); fetch it again") from error
