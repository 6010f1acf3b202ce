"""lighteval's details since version 0.10: a parquet file per task, in `details/{model}/{time}/details_{task}_{time}.parquet`.

The columns are `doc`, `model_response` and `metric`; `__doc__` and so on in its documentation.
"""

import re
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, SkippedRecord, make_answers
from bert_judge.importers.options import letter_options
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_path

KEYS = frozenset({"doc", "model_response"})
_NAME = re.compile(r"details_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d.:-]+")


class LightevalReader:
    def __init__(self, path: Path) -> None:
        name = _NAME.match(path.stem)
        self.task = (name[1] if name else path.stem).replace("|", ":")
        self.model = _model_name(path)

    def __call__(self, record: Record) -> list[Answer]:
        row = {name.strip("_"): value for name, value in record.items()}
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
            question, references = letter_options(question, options, correct, together=False)
        identity = values.parse_text(get_path(document, "id"))
        return make_answers(references, list(candidates), question=question, model=self.model, task=self.task, id=identity)


def _as_indices(value: Any) -> list[int]:
    return [index for index in (value if isinstance(value, list) else [value]) if isinstance(index, int)]


def _model_name(path: Path) -> str:
    """Return the part of the path between `details` and the time; empty for a file that was moved."""
    folders = path.resolve().parent.parts
    if "details" in folders and _TIME.fullmatch(folders[-1]):
        start = len(folders) - folders[::-1].index("details")
        return "/".join(folders[start:-1])
    return ""
