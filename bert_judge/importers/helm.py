"""HELM's `scenario_state.json`."""

from collections.abc import Iterator
from pathlib import Path

from bert_judge.importers.answers import Answer, SkippedRecord, make_answers
from bert_judge.importers.options import add_options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.rows import LocatedRecord, Record
from bert_judge.tables.readers.values import get_path

KEYS = frozenset({"adapter_spec", "request_states"})


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


def read_states(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and content of each state. Raises InputError: the document is broken."""
    for location, state in json_documents.iterate_list(path, "request_states"):
        if not isinstance(state, dict):
            raise InputError(f"{path}: {location} is not an object; check the format of the file")
        yield location, state
