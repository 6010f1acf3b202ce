"""The files of HELM, OpenCompass, EvalScope and OpenAI evals: a reader of a few lines for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, SkippedRecord, get_path, make_answers, parse_question
from bert_judge.candidates.importers.options import add_options, apply_options, parse_options
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

HELM_PREFIX = "request_states.item"
HELM_KEYS = frozenset({"adapter_spec", "request_states"})
OPENCOMPASS_KEYS = frozenset({"origin_prompt", "prediction"})
EVALSCOPE_KEYS = (frozenset({"sample_score", "target"}), frozenset({"raw_input", "choices"}))
OPENAI_EVALS_KEYS = frozenset({"sample_id", "type", "data"})


class HelmReader:
    """Reader of the states of HELM's `scenario_state.json`: one per instance, training trial and, in some methods, option."""

    def __init__(self, path: Path) -> None:
        # The folder has the name of the run, scenario with arguments and model: "mmlu:subject=anatomy,model=openai_gpt2".
        self.task = ",".join(word for word in path.resolve().parent.name.split(",") if not word.startswith("model="))

    def __call__(self, record: Record) -> list[Answer]:
        if record.get("reference_index") is not None:
            raise SkippedRecord("an option scored by likelihood, without generated text")
        result = record.get("result")
        if not get_path(result, "success"):
            raise values.UnreadableCell(f"the request failed: {get_path(result, 'error') or 'no result'}")
        references = [
            get_path(reference, "output", "text")
            for reference in get_path(record, "instance", "references") or []
            if "correct" in (get_path(reference, "tags") or [])
        ]
        question = values.parse_text(get_path(record, "instance", "input", "text"))
        if options := record.get("output_mapping"):
            question = add_options(question, list(options.values()))
            references = [form for letter, text in options.items() if text in references for form in (letter, text)]
        return make_answers(
            references,
            [get_path(completion, "text") for completion in get_path(result, "completions") or []],
            question=question,
            model=values.parse_text(get_path(record, "request", "model") or get_path(record, "request", "model_deployment")),
            task=self.task,
            id=values.parse_text(get_path(record, "instance", "id")),
        )


class _NamedByPath:
    """A reader of the records in `{model}/{task}.json` or `.jsonl`, in a folder of models with a known name."""

    def __init__(self, path: Path, models_folder: str) -> None:
        folder = path.resolve().parent
        self.model = folder.name if folder.parent.name == models_folder else ""
        self.task = path.name.partition(".json")[0]

    def answers(self, record: Record, question: Any, references: Any, candidates: list[Any], options: Any = None) -> list[Answer]:
        text = parse_question(question)
        if parsed := parse_options(options):
            text, references = apply_options(text, references, parsed)
        identity = values.parse_text(record.get("id", record.get("index", record.get("sample_id"))))
        return make_answers(references, candidates, question=text, model=self.model, task=self.task, id=identity)


class OpenCompassReader(_NamedByPath):
    """Reader of OpenCompass' `predictions/{model}/{task}.json`: prompt, prediction and gold by number; large tasks in parts."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "predictions")
        self.task = re.sub(r"_\d+$", "", self.task)

    def __call__(self, record: Record) -> list[Answer]:
        return self.answers(record, record.get("origin_prompt"), record.get("gold"), values.parse_answers(record.get("prediction")))


class EvalScopeReader(_NamedByPath):
    """Reader of EvalScope's `reviews/{model}/{task}.jsonl`, of its versions before and since 1.0."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "reviews")

    def __call__(self, record: Record) -> list[Answer]:
        if "raw_input" not in record:
            score = get_path(record, "sample_score", "score")
            candidate = get_path(score, "prediction") or get_path(score, "extracted_prediction")
            return self.answers(record, record.get("input"), values.parse_alternatives(record.get("target")), [candidate])
        document, choices = record["raw_input"], record.get("choices") or []
        question = document if isinstance(document, dict) and parse_question(document) else record.get("origin_prompt")
        references = get_path(choices, 0, "review", "gold")
        options = get_path(document, "choices") or get_path(document, "options")
        return self.answers(record, question, references, [get_path(choice, "message") for choice in choices], options)


class OpenAIEvalsReader(_NamedByPath):
    """Reader of the log of OpenAI evals: a line per event, of which `match` states expected and sampled answer."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "")

    def __call__(self, record: Record) -> list[Answer]:
        expected = get_path(record, "data", "expected")
        if expected is None:
            raise SkippedRecord("an event without an expected answer")
        candidate = next((text for key in ("sampled", "picked") if (text := get_path(record, "data", key)) is not None), "")
        return self.answers(record, get_path(record, "data", "prompt"), expected, values.parse_answers(candidate))
