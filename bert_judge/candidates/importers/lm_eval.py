"""lm-evaluation-harness, `--log_samples`: a line per document and filter, in `samples_{task}_{time}.jsonl`.

The raw responses are imported, not the filtered ones: finding the answer is the judge's task. A document that occurs once per
filter is imported once.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, SkippedRecord, get_path, letter_options, make_answers
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

KEYS = frozenset({"doc", "target", "arguments", "resps", "filtered_resps"})
QUESTION_KEYS = ("question", "problem", "query", "input")
_NAME = re.compile(r"samples_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")


def _after_hashes(record: Record) -> list[str]:
    from bert_judge.tasks.gold import after_hashes

    return after_hashes(str(record["target"]))


def _boxed(record: Record) -> list[str]:
    """Return the document's answer, or else the last box of its solution."""
    from bert_judge.tasks.gold import last_box

    answer = get_path(record["doc"], "answer")
    if isinstance(answer, str) and answer:
        return [answer]
    return last_box(str(get_path(record["doc"], "solution") or record["target"]))


def _triviaqa(record: Record) -> list[str]:
    return [get_path(record["doc"], "answer", "value"), *(get_path(record["doc"], "answer", "aliases") or [])]


def _squad(record: Record) -> list[str]:
    return get_path(record["doc"], "answers", "text") or []


def _drop(record: Record) -> list[str]:
    # Each annotator's answer is a list of spans.
    return [", ".join(spans) for spans in get_path(record["doc"], "answers") or []]


# Prefix of a task's name → its references, if they differ from the target.
REFERENCES: Mapping[str, Callable[[Record], Sequence[Any]]] = {
    "gsm8k": _after_hashes,
    "gsm_plus": _after_hashes,
    "minerva_math": _boxed,
    "hendrycks_math": _boxed,
    "leaderboard_math": _boxed,
    "triviaqa": _triviaqa,
    "squad": _squad,
    "drop": _drop,
}


class LMEvalReader:
    """Reader of the lines of one file of samples."""

    def __init__(self, path: Path) -> None:
        name = _NAME.match(path.stem)
        self.task = name[1] if name else path.stem
        self.model = _model_name(path)
        self._filter: Any = None

    def __call__(self, record: Record) -> list[Answer]:
        if missing := sorted(KEYS - set(record)):
            raise values.UnreadableCell(f"no {missing[0]!r}, which every logged sample has")
        if self._filter is None:
            self._filter = record.get("filter", "none")
        if record.get("filter", "none") != self._filter:
            raise SkippedRecord("another filter of the same document")
        responses = get_path(record["resps"], 0)
        if isinstance(get_path(responses, 0), list | tuple):
            raise SkippedRecord("a task scored by likelihood, without generated text")
        if not isinstance(responses, list):
            raise values.UnreadableCell(f"its resps are {str(record['resps'])[:60]}")
        question, references = self._parse_document(record)
        identity = str(record.get("doc_id", ""))
        return make_answers(references, responses, question=question, model=self.model, task=self.task, id=identity)

    def _parse_document(self, record: Record) -> tuple[str, Sequence[Any]]:
        """Return question and references. The document's question is preferred to the prompt, which may contain examples."""
        from bert_judge.tasks.cells import UnusableRow

        document = record["doc"]
        prompt = get_path(record["arguments"], "gen_args_0", "arg_0") or get_path(record["arguments"], 0, 0)
        question = next((document[key] for key in QUESTION_KEYS if isinstance(get_path(document, key), str)), None)
        question = question or values.parse_text(prompt)
        try:
            for prefix, find_references in REFERENCES.items():
                if self.task.startswith(prefix):
                    return question, find_references(record)
        except UnusableRow as error:
            raise values.UnreadableCell(str(error)) from error
        options, target = get_path(document, "choices"), str(record["target"])
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            correct = [int(target)] if target.isdecimal() else [i for i, option in enumerate(options) if option == target]
            if correct:
                return letter_options(question, options, correct)
        return question, parse_python_list(record["target"])


def parse_python_list(value: Any) -> list[Any]:
    """Return a list, the list that a text spells in Python, or a list of the single value."""
    if isinstance(value, str) and value.startswith("["):
        try:
            parsed = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [value]
        return parsed if isinstance(parsed, list) else [value]
    return list(value) if isinstance(value, list | tuple) else [value]


def _model_name(path: Path) -> str:
    """Return the model in the results file of the folder, or else the folder's name, in which the harness writes "/" as "__"."""
    for results in sorted(path.parent.glob("results_*.json")):
        try:
            name = json.loads(results.read_text("utf-8")).get("model_name")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(name, str) and name:
            return name
    return path.resolve().parent.name.replace("__", "/")
