"""lighteval's details: a parquet file per task, in `details/{model}/{time}/details_{task}_{time}.parquet`.

Two layouts exist. Since version 0.10 a row has the columns `doc`, `model_response` and `metric` (`__doc__` and so on in its
documentation). Earlier, `full_prompt`, `predictions`, `gold` and others were separate columns, in some files as the texts of Python
lists.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, SkippedRecord, get_path, make_answers
from bert_judge.candidates.importers.options import letter_options
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

NESTED, FLAT = frozenset({"doc", "model_response"}), frozenset({"predictions", "full_prompt"})
_NAME = re.compile(r"details_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d.:-]+")


def has_columns(columns: Collection[str]) -> bool:
    """Return whether a file with these columns is one of lighteval's."""
    names = {name.strip("_") for name in columns}
    return names >= NESTED or names >= FLAT


class LightevalReader:
    """Reader of the rows of one file of details."""

    def __init__(self, path: Path) -> None:
        name = _NAME.match(path.stem)
        self.task = (name[1] if name else path.stem).replace("|", ":")
        self.model = _model_name(path)

    def __call__(self, record: Record) -> list[Answer]:
        row = {name.strip("_"): value for name, value in record.items()}
        return self._read_nested(row) if row.keys() >= NESTED else self._read_flat(row)

    def _read_nested(self, row: Record) -> list[Answer]:
        document, candidates = row["doc"], get_path(row["model_response"], "text")
        if not candidates:
            raise SkippedRecord("a task scored by likelihood, without generated text")
        options, correct = list(get_path(document, "choices") or []), _as_indices(get_path(document, "gold_index"))
        if not all(0 <= index < len(options) for index in correct):
            raise values.UnreadableCell(f"the correct option is {correct} of {len(options)}")
        question = values.parse_text(get_path(document, "query"))
        references = [options[index] for index in correct]
        if len(options) > len(references) and all(re.fullmatch(r"\s*[A-Z]\s*", option) for option in options):
            # Only letters: the options themselves are lines of the question.
            references = [reference.strip() for reference in references]
        elif len(options) > len(references):
            question, references = letter_options(question, options, correct)
        return self._answers(question, references, list(candidates), values.parse_text(get_path(document, "id")))

    def _read_flat(self, row: Record) -> list[Answer]:
        candidates, references = _as_list(row.get("predictions")), _as_list(row.get("gold"))
        if not references:
            options = _as_list(row.get("choices"))
            references = [options[index] for index in _as_indices(_as_list(row.get("gold_index"))) if index < len(options)]
        candidates = candidates[0] if candidates and isinstance(candidates[0], list) else candidates
        if candidates and not isinstance(candidates[0], str):
            raise SkippedRecord("a task scored by likelihood, without generated text")
        question = values.parse_text(row.get("example")) or values.parse_text(row.get("full_prompt"))
        return self._answers(question, references, candidates, "")

    def _answers(self, question: str, references: list[Any], candidates: list[Any], identity: str) -> list[Answer]:
        return make_answers(references, candidates, question=question, model=self.model, task=self.task, id=identity)


def _as_list(value: Any) -> list[Any]:
    parsed = values.parse_literal(value)
    return [] if value is None else list(parsed) if isinstance(parsed, list | tuple) else [value]


def _as_indices(value: Any) -> list[int]:
    return [index for index in (value if isinstance(value, list) else [value]) if isinstance(index, int)]


def _model_name(path: Path) -> str:
    """Return the part of the path between `details` and the time; empty for a file that was moved."""
    folders = path.resolve().parent.parts
    if "details" in folders and _TIME.fullmatch(folders[-1]):
        start = len(folders) - folders[::-1].index("details")
        return "/".join(folders[start:-1])
    return ""
