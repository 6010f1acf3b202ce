"""Second files: right answers and questions that a framework's own file lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.errors import InputError
from bert_judge.importers import column_names, values
from bert_judge.importers.answers import Record, part
from bert_judge.importers.streams import open_rows

IDS = ("custom_id", "question_id", "sample_id", "id")


@dataclass(frozen=True)
class Beside:
    """The files that a user names beside the one to import.

    Attributes:
        references: right answers, by id or in the order of the answers.
        requests: of a batch of OpenAI's.
        scores: a judge's, in the order of the answers.
    """

    references: Path | None = None
    requests: Path | None = None
    scores: Path | None = None


def by_id(path: Path) -> dict[str, list[str]]:
    """Id → right answers.

    Raises:
        InputError: the file has no column of ids or of right answers, or an id is there twice.
    """
    rows = open_rows(path)
    name = next((name for name in IDS if name in rows.columns), None)
    if name is None:
        raise InputError(f"{path}: no column of ids; there must be one of {', '.join(IDS)}")
    found: dict[str, list[str]] = {}
    for place, record in _rows(path):
        identity = values.text(record[name])
        if identity in found:
            raise InputError(f"{path}: {place}: the {name} {identity!r} is there twice; make the ids unique")
        found[identity] = record["references"]
    return found


def in_order(path: Path) -> list[Record]:
    """Questions with their right answers, in the file's order."""
    return [{"question": record["question"], "references": record["references"]} for _, record in _rows(path)]


def _rows(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Place and record of each row, with `question` and `references` under these names."""
    source = open_rows(path)
    columns = column_names.guess(path, source.columns, {}, needed=("references",))
    found: list[tuple[str, Mapping[str, Any]]] = []
    for chunk in source.chunks(4096):
        for place, record in zip(chunk.places, chunk.records, strict=True):
            told = record.get(columns["references"])
            try:
                references = values.texts(part(told, "text") if isinstance(told, Mapping) else told, source.format == "csv")
                question = values.text(record.get(columns["question"])) if "question" in columns else ""
            except values.Unreadable as error:
                raise InputError(f"{path}: {place}: {error}") from error
            found.append((place, {**record, "question": question, "references": references}))
    return found
