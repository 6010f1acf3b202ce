"""HELM's `scenario_state.json`: one state per instance, training trial and, in some methods, per option."""

from __future__ import annotations

from pathlib import Path

from bert_judge.candidates.importers.answers import Answer, Record, Skipped, part, repeated
from bert_judge.tables.readers import values

LIST = "request_states.item"
KEYS = frozenset({"adapter_spec", "request_states"})


class Reader:
    """Reads the states of one run, whose folder is called after the run."""

    def __init__(self, path: Path) -> None:
        # "mmlu:subject=anatomy,model=openai_gpt2": a run's name is its scenario with arguments, and the model.
        self.task = ",".join(word for word in path.resolve().parent.name.split(",") if not word.startswith("model="))

    def __call__(self, record: Record) -> list[Answer]:
        if record.get("reference_index") is not None:
            raise Skipped("an option scored by likelihood, without generated text")
        result = record.get("result")
        if not part(result, "success"):
            raise values.UnreadableCell(f"the request failed: {part(result, 'error') or 'no result'}")
        right = [
            part(reference, "output", "text")
            for reference in part(record, "instance", "references") or []
            if "correct" in (part(reference, "tags") or [])
        ]
        question = values.parse_text(part(record, "instance", "input", "text"))
        mapping = record.get("output_mapping") or {}
        if mapping:
            question = "\n".join([question.rstrip(), *(f"({letter}) {text}" for letter, text in mapping.items())])
            right = [form for letter, text in mapping.items() if text in right for form in (letter, text)]
        said = [part(completion, "text") for completion in part(result, "completions") or []]
        model = values.parse_text(part(record, "request", "model") or part(record, "request", "model_deployment"))
        identity = values.parse_text(part(record, "instance", "id"))
        return repeated(right, said, question=question, model=model, task=self.task, id=identity)
