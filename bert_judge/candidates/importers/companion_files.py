"""Companion files: references and questions that a framework's own file lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.candidates.importers import column_names
from bert_judge.candidates.importers.answers import parse_question
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows

T = TypeVar("T")
ID_COLUMNS = ("custom_id", "question_id", "sample_id", "id")


@dataclass(frozen=True)
class CompanionFiles:
    """The files that a user names in addition to the imported one; references and scores are by id, or in the answers' order."""

    references: Path | None = None
    requests: Path | None = None
    scores: Path | None = None


def references_by_id(path: Path | None) -> Mapping[str, list[str]]:
    """Return id → references. Raises InputError: no column of ids or references, an invalid cell, or a duplicate id."""
    if path is None:
        return {}
    columns = open_rows(path).columns
    id_column = next((name for name in ID_COLUMNS if name in columns), None)
    if id_column is None:
        raise InputError(f"{path}: no column of ids; add one of {', '.join(ID_COLUMNS)}")
    rows = _parsed_rows(path, id_column)
    return by_id(path, id_column, ((location, row["id"], row["references"]) for location, row in rows))


def by_id(path: Path, id_column: str, entries: Iterable[tuple[str, str, T]]) -> dict[str, T]:
    """Return id → value of entries of location, id and value. Raises InputError: a duplicate id."""
    values_by_id: dict[str, T] = {}
    for location, identity, value in entries:
        if identity in values_by_id:
            raise InputError(f"{path}: {location}: duplicate {id_column} {identity!r}; make the ids unique")
        values_by_id[identity] = value
    return values_by_id


def questions_in_order(path: Path) -> Iterator[Record]:
    """Yield `question` and `references` of each row. Raises InputError: no column of references, or an invalid cell."""
    return (row for _, row in _parsed_rows(path))


def _parsed_rows(path: Path, id_column: str | None = None) -> Iterator[LocatedRecord]:
    """Yield location, and `question`, `references` and (if its column is named) `id` of each row."""
    source = open_rows(path)
    columns = column_names.detect_columns(path, source.columns, {}, required=("references",), sample=source.sample())
    parsers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "references": (columns["references"], lambda cell: values.parse_texts(cell, source.format == "csv"))
    }
    if "question" in columns:
        parsers["question"] = (columns["question"], parse_question)
    if id_column is not None:
        parsers["id"] = (id_column, values.parse_text)
    for location, record in source.records():
        row = {
            name: values.parse_cell(path, location, column, parse, record.get(column)) for name, (column, parse) in parsers.items()
        }
        yield location, {"question": "", **row}
