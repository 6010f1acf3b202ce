"""Second files: right answers and questions that a framework's own file lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers import column_names
from bert_judge.candidates.importers.answers import Record, part
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.disk_map import OnDisk
from bert_judge.tables.readers.streams import open_rows

IDS = ("custom_id", "question_id", "sample_id", "id")
CHUNK_ROWS = 1024


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


def by_id(path: Path) -> Mapping[str, list[str]]:
    """Id → right answers.

    Raises:
        InputError: the file has no column of ids or of right answers, a cell cannot be read, or an id is there twice.
    """
    rows = open_rows(path)
    name = next((name for name in IDS if name in rows.columns), None)
    if name is None:
        raise InputError(f"{path}: no column of ids; there must be one of {', '.join(IDS)}")
    return OnDisk(path, name, ((place, row["id"], row["references"]) for place, row in _rows(path, name)))


def in_order(path: Path) -> Iterator[Record]:
    """Questions with their right answers, in the file's order.

    Raises:
        InputError: the file has no column of right answers, or a cell cannot be read; rows before that are given.
    """
    return (row for _, row in _rows(path))


def _rows(path: Path, identity: str | None = None) -> Iterator[tuple[str, Record]]:
    """Place, and `question`, `references` and where it is named `id`, of each row.

    Args:
        identity: column of the ids.
    """
    source = open_rows(path)
    columns = column_names.guess(path, source.columns, {}, needed=("references",))

    def right(told: Any) -> list[str]:
        return values.parse_texts(part(told, "text") if isinstance(told, Mapping) else told, source.format == "csv")

    wanted: dict[str, tuple[str, Callable[[Any], Any]]] = {"references": (columns["references"], right)}
    if "question" in columns:
        wanted["question"] = (columns["question"], values.parse_text)
    if identity is not None:
        wanted["id"] = (identity, values.parse_text)
    for chunk in source.chunks(CHUNK_ROWS):
        for place, record in zip(chunk.places, chunk.records, strict=True):
            row = {
                name: values.parse_cell(path, place, column, convert, record.get(column))
                for name, (column, convert) in wanted.items()
            }
            yield place, {"question": "", **row}
