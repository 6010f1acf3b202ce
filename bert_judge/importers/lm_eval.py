"""lm-evaluation-harness, `--log_samples`: a line per document and filter, in `samples_{task}_{time}.jsonl`.

The raw responses are imported, not the filtered ones: finding the answer is the judge's task. A document that occurs once per
filter is imported once. References are derived from what the target is, not from the name of the task.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, SkippedRecord, make_answers, parse_question
from bert_judge.importers.options import Options, apply_options, parse_option_cell
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_path

KEYS = frozenset({"doc", "target", "resps", "filtered_resps"})
QUESTION_KEYS = ("question", "problem", "query", "input", "prompt")
OPTION_KEYS = ("choices", "options", "endings")
_NAME = re.compile(r"samples_(.+?)_(\d{4}-\d\d-\d\dT[\d.:-]+)")
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")


class LMEvalReader:
    def __init__(self, path: Path) -> None:
        stem = path.name.partition(".json")[0]
        name = _NAME.match(stem)
        self.task, time = (name[1], name[2]) if name else (stem, "")
        results = _find_results(path.parent, time)
        self.model = _model_name(results) if results else ""
        self.model = self.model or path.resolve().parent.name.replace("__", "/")
        # What an integer target means in a task of generated answers.
        self.choices = get_path(results and json_documents.read_member(results, "configs"), self.task, "doc_to_choice")
        self._filter: Any = None

    def __call__(self, record: Record) -> list[Answer]:
        if missing := sorted(KEYS - set(record)):
            raise values.UnreadableCell(f"no {missing[0]!r}, which every logged sample has")
        if self._filter is None:
            self._filter = record.get("filter", "none")
        if record.get("filter", "none") != self._filter:
            raise SkippedRecord("another filter of the same document")
        # Some versions write a flat list.
        responses = get_path(record["resps"], 0)
        responses = [responses] if isinstance(responses, str) else responses
        if isinstance(get_path(responses, 0), list | tuple | int | float):
            raise SkippedRecord("a task scored by likelihood, without generated text")
        if not isinstance(responses, list):
            raise values.UnreadableCell(f"its resps are {str(record['resps'])[:60]}")
        question, references = self._parse_document(record)
        identity = str(record.get("doc_id", ""))
        return make_answers(references, responses, question=question, model=self.model, task=self.task, id=identity)

    def _parse_document(self, record: Record) -> tuple[str, Any]:
        """Return question and references. The document's question is preferred to the prompt, which may contain examples."""
        fields = {str(key).lower(): value for key, value in (record["doc"] if isinstance(record["doc"], Mapping) else {}).items()}
        question = parse_question(next((fields[key] for key in QUESTION_KEYS if fields.get(key)), None) or _prompt(record))
        target = _parse_target(record["target"])
        if isinstance(self.choices, list) and str(target).isdecimal() and int(str(target)) < len(self.choices):
            return question, [self.choices[int(str(target))]]
        # CMMLU and others have a key per option.
        by_letter = {key.upper(): fields[key] for key in "abcdefghij" if key in fields}
        cells = [*map(fields.get, OPTION_KEYS), by_letter if len(by_letter) > 2 else None]
        options = next((parsed for cell in cells if (parsed := parse_option_cell(cell))), None)
        if options:
            return apply_options(question, target, options, _index_base(target, options, fields))
        return question, _references(target, fields)


def _references(target: Any, fields: Mapping[str, Any]) -> Any:
    """Return the correct answers that a document states, or else those in the target."""
    if isinstance(target, str) and not target.strip():
        # TruthfulQA's answers are in the document only.
        return [fields.get("best_answer"), *(fields.get("correct_answers") or fields.get("answers") or [])]
    if texts := get_path(fields.get("answers"), "text"):
        return texts
    if isinstance(fields.get("answer"), Mapping):
        return fields["answer"]
    if isinstance(answers := fields.get("answers"), list) and all(isinstance(spans, list) for spans in answers) and answers:
        # DROP: each annotator's answer is a list of spans.
        return answers
    if not isinstance(target, str):
        return target
    # A target may be the whole solution, of which the document states the end (MGSM, MATH).
    stated = fields.get("answer_number")
    stated = fields.get("answer") if stated is None and "\\boxed" in target else stated
    return final_answers(str(stated) if isinstance(stated, str | int | float) and str(stated).strip() else target)


def final_answers(solution: str) -> list[str]:
    """Return the answer at the end of a solution, after `####` or in the last box; a text without these is the answer itself."""
    from bert_judge.importers.cells import UnusableRow, after_hashes, last_box

    for mark, find in (("####", after_hashes), ("\\boxed", last_box)):
        if mark in solution:
            try:
                return list(find(solution))
            except UnusableRow:
                continue
    return [solution]


def _parse_target(target: Any) -> Any:
    """Return a target as it was before the harness wrote it as a text: a list, a truth value or a text."""
    return target == "True" if target in ("True", "False") else values.parse_alternatives(target)


def _index_base(target: Any, options: Options, fields: Mapping[str, Any]) -> int | None:
    """Return 0 if a number is the index of an option rather than its text or label."""
    is_index = any(type(value) is int and str(value) == target for value in fields.values())
    return 0 if is_index or str(target) not in {*options.texts, *options.labels} else None


def _prompt(record: Record) -> Any:
    arguments = record.get("arguments")
    prompt = get_path(arguments, "gen_args_0", "arg_0") or get_path(arguments, 0, 0) or record.get("input")
    return get_path(prompt, 0) if isinstance(prompt, list) and len(prompt) == 1 else prompt


def _find_results(folder: Path, time: str) -> Path | None:
    """Return the results of the run with this time, or of the only model in the folder."""
    if (same_run := folder / f"results_{time}.json").is_file():
        return same_run
    candidates = sorted(folder.glob("results*.json"))
    return candidates[0] if len({_model_name(path) for path in candidates}) == 1 else None


def _model_name(results: Path) -> str:
    try:
        if isinstance(name := json_documents.read_member(results, "model_name"), str) and name:
            return name
        arguments = json_documents.read_member(results, "config.model_args")
    except InputError:
        return ""
    if isinstance(arguments, Mapping):
        return str(arguments.get("pretrained") or arguments.get("model") or "")
    match = _MODEL.search(str(arguments))
    return match[1] if match else ""
