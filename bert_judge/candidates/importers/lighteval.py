"""lighteval's details: a parquet file per task, in `details/{model}/{time}/details_{task}_{time}.parquet`.

Two spellings are about. Since version 0.10 a row has the columns `doc`, `model_response` and `metric` (its documentation writes
them `__doc__` and so on); before, `full_prompt`, `predictions`, `gold` and others stood beside each other, in some files as the
texts of Python lists.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record, Skipped, lettered, part, repeated
from bert_judge.tables.readers import values

NESTED, FLAT = frozenset({"doc", "model_response"}), frozenset({"predictions", "full_prompt"})
_NAME = re.compile(r"details_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d.:-]+")


def recognises(columns: set[str]) -> bool:
    """Whether a file with these columns is one of lighteval's."""
    plain = {name.strip("_") for name in columns}
    return plain >= NESTED or plain >= FLAT


class Reader:
    """Reads the rows of one file of details."""

    def __init__(self, path: Path) -> None:
        name = _NAME.match(path.stem)
        self.task = (name[1] if name else path.stem).replace("|", ":")
        self.model = _model(path)

    def __call__(self, record: Record) -> list[Answer]:
        row = {name.strip("_"): value for name, value in record.items()}
        return self._nested(row) if row.keys() >= NESTED else self._flat(row)

    def _nested(self, row: Record) -> list[Answer]:
        document, said = row["doc"], part(row["model_response"], "text")
        if not said:
            raise Skipped("a task scored by likelihood, without generated text")
        options, right = list(part(document, "choices") or []), _indices(part(document, "gold_index"))
        if not all(0 <= at < len(options) for at in right):
            raise values.UnreadableCell(f"the right option is {right} of {len(options)}")
        question = values.parse_text(part(document, "query"))
        references = [options[at] for at in right]
        if len(options) > len(references) and all(re.fullmatch(r"\s*[A-Z]\s*", option) for option in options):
            # Only letters: the options themselves are lines of the question.
            references = [reference.strip() for reference in references]
        elif len(options) > len(references):
            question, references = lettered(question, options, right)
        return self._answers(question, references, list(said), values.parse_text(part(document, "id")))

    def _flat(self, row: Record) -> list[Answer]:
        said, right = _list(row.get("predictions")), _list(row.get("gold"))
        if not right:
            options = _list(row.get("choices"))
            right = [options[at] for at in _indices(_list(row.get("gold_index"))) if at < len(options)]
        said = said[0] if said and isinstance(said[0], list) else said
        if said and not isinstance(said[0], str):
            raise Skipped("a task scored by likelihood, without generated text")
        question = values.parse_text(row.get("example")) or values.parse_text(row.get("full_prompt"))
        return self._answers(question, right, said, "")

    def _answers(self, question: str, references: list[Any], said: list[Any], identity: str) -> list[Answer]:
        return repeated(references, said, question=question, model=self.model, task=self.task, id=identity)


def _list(value: Any) -> list[Any]:
    """A list, or the text of one."""
    if isinstance(value, str) and value.startswith("["):
        try:
            spelt = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
        return spelt if isinstance(spelt, list) else [value]
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _indices(value: Any) -> list[int]:
    return [at for at in (value if isinstance(value, list) else [value]) if isinstance(at, int)]


def _model(path: Path) -> str:
    """What stands between `details` and the time in the file's path; empty for a file that was moved."""
    parts = path.resolve().parent.parts
    if "details" in parts and _TIME.fullmatch(parts[-1]):
        at = len(parts) - 1 - parts[::-1].index("details")
        return "/".join(parts[at + 1 : -1])
    return ""
