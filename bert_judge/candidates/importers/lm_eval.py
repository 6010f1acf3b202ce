"""lm-evaluation-harness, `--log_samples`: a line per document and filter, in `samples_{task}_{time}.jsonl`.

The raw responses are taken, not what a filter left of them: whether the answer is there is the judge's question. A document that
stands there once for each filter counts once.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record, Skipped, lettered, part, repeated
from bert_judge.tables.readers import values

KEYS = frozenset({"doc", "target", "arguments", "resps", "filtered_resps"})
QUESTIONS = ("question", "problem", "query", "input")
_NAME = re.compile(r"samples_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")


def _after_hashes(record: Record) -> list[str]:
    from bert_judge.tasks.gold import after_hashes

    return after_hashes(str(record["target"]))


def _boxed(record: Record) -> list[str]:
    """MATH and its offspring: the answer itself where the document has one, else the last box of the solution."""
    from bert_judge.tasks.gold import last_box

    answer = part(record["doc"], "answer")
    return [answer] if isinstance(answer, str) and answer else last_box(str(part(record["doc"], "solution") or record["target"]))


def _trivia(record: Record) -> list[str]:
    return [part(record["doc"], "answer", "value"), *(part(record["doc"], "answer", "aliases") or [])]


def _squad(record: Record) -> list[str]:
    return part(record["doc"], "answers", "text") or []


def _drop(record: Record) -> list[str]:
    # Each reading of the answer is a list of spans.
    return [", ".join(spans) for spans in part(record["doc"], "answers") or []]


# Beginning of a task's name → its references, where the target is more or other than they are.
REFERENCES: Mapping[str, Callable[[Record], Sequence[Any]]] = {
    "gsm8k": _after_hashes,
    "gsm_plus": _after_hashes,
    "minerva_math": _boxed,
    "hendrycks_math": _boxed,
    "leaderboard_math": _boxed,
    "triviaqa": _trivia,
    "squad": _squad,
    "drop": _drop,
}


class Reader:
    """Reads the lines of one file of samples."""

    def __init__(self, path: Path) -> None:
        name = _NAME.match(path.stem)
        self.task = name[1] if name else path.stem
        self.model = _model(path)
        self._filter: Any = None

    def __call__(self, record: Record) -> list[Answer]:
        if missing := sorted(KEYS - set(record)):
            raise values.UnreadableCell(f"no {missing[0]!r}, which every logged sample has")
        if self._filter is None:
            self._filter = record.get("filter", "none")
        if record.get("filter", "none") != self._filter:
            raise Skipped("another filter of the same document")
        responses = part(record["resps"], 0)
        if isinstance(part(responses, 0), list | tuple):
            raise Skipped("a task scored by likelihood, without generated text")
        if not isinstance(responses, list):
            raise values.UnreadableCell(f"its resps are {str(record['resps'])[:60]}")
        question, references = self._asked(record)
        same = {"question": question, "model": self.model, "task": self.task, "id": str(record.get("doc_id", ""))}
        return repeated(references, responses, **same)

    def _asked(self, record: Record) -> tuple[str, Sequence[Any]]:
        """Question and references. The document's question is taken where there is one; the prompt may hold examples before it."""
        from bert_judge.tasks.cells import Unusable

        document = record["doc"]
        told = next((document[key] for key in QUESTIONS if isinstance(part(document, key), str)), None)
        question = told or values.parse_text(part(record["arguments"], "gen_args_0", "arg_0") or part(record["arguments"], 0, 0))
        try:
            for beginning, find in REFERENCES.items():
                if self.task.startswith(beginning):
                    return question, find(record)
        except Unusable as fault:
            raise values.UnreadableCell(str(fault)) from fault
        options, target = part(document, "choices"), str(record["target"])
        if isinstance(options, list) and all(isinstance(option, str) for option in options):
            right = [int(target)] if target.isdecimal() else [at for at, option in enumerate(options) if option == target]
            if right:
                return lettered(question, options, right)
        return question, _target(record["target"])


def _target(target: Any) -> list[Any]:
    """The harness writes every target as a text; a list of targets comes as Python spells it."""
    if isinstance(target, str) and target.startswith("[") and target.endswith("]"):
        try:
            spelt = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [target]
        return spelt if isinstance(spelt, list) else [target]
    return target if isinstance(target, list) else [target]


def _model(path: Path) -> str:
    """The model's name: from the results beside the samples, else from the folder, where the harness writes "/" as "__"."""
    for results in sorted(path.parent.glob("results_*.json")):
        try:
            name = json.loads(results.read_text("utf-8")).get("model_name")
        except (OSError, ValueError, AttributeError):
            # The folder's name tells enough.
            continue
        if isinstance(name, str) and name:
            return name
    return path.resolve().parent.name.replace("__", "/")
