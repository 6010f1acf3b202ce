"""Companion files: references and questions that a framework's own file lacks; and the answers of BERT-as-a-Judge, which need them.

BERT-as-a-Judge writes `{folder}/{task}/{model}/candidates.json`, a list of answers in the order of the questions. Questions and
references come from a second file in the same order; a judge's `scores.json`, a list in the same order, becomes the column `label`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.candidates.importers import column_names
from bert_judge.candidates.importers.answers import parse_question
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.json_documents import iterate_list
from bert_judge.tables.readers.rows import LocatedRecord, open_rows

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
            name: values.parse_cell(path, location, column, parse, column_names.get_cell(record, column))
            for name, (column, parse) in parsers.items()
        }
        yield location, {"question": "", **row}


def read_candidates(path: Path, companions: CompanionFiles) -> Iterator[LocatedRecord]:
    """Yield the answers with their questions as plain rows. Raises InputError: no references, or lists of different lengths."""
    if companions.references is None:
        raise InputError(f"{path}: contains answers only; name the file of questions and references with --references")
    questions, scores = (row for _, row in _parsed_rows(companions.references)), companions.scores
    task, model = path.resolve().parent.parent.name, path.resolve().parent.name
    lists = (questions, iterate_list(path), iterate_list(scores) if scores else iter(()))
    for count, (row, member, score) in enumerate(zip_longest(*lists)):
        if row is None and member is None:
            raise InputError(f"{scores}: has more scores than there are answers ({count}); give the scores of these answers")
        if row is None or member is None:
            # The remaining questions are counted for the message only.
            total = count if row is None else count + 1 + sum(1 for _ in questions)
            raise InputError(
                f"{path}: has {'more' if row is None else 'fewer'} answers than the references have questions ({total}); "
                "give the questions of these answers, in their order"
            )
        location, candidate = member
        if not isinstance(candidate, str | None):
            raise InputError(f"{path}: {location} is {str(candidate)[:60]!r}; candidates.json is a list of texts")
        if scores and score is None:
            raise InputError(f"{scores}: has fewer scores ({count}) than there are answers; give the scores of these answers")
        label = values.parse_label(score[1]) if score else None
        yield location, {**row, "candidate": candidate, "model": model, "task": task, "label": label}
