"""The logs of openai/evals: a line per event. An answer is a `match` event; its prompt is in the first `sampling` of the sample."""

from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, SkippedRecord, make_answers, parse_question
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, open_rows
from bert_judge.tables.readers.values import get_path

KEYS = frozenset({"run_id", "event_id", "sample_id", "type", "data"})


class EvalsReader:
    """Reader of the events of a log, whose samples and runs are read first."""

    def __init__(self, path: Path) -> None:
        self.runs: dict[Any, Any] = {}
        self.samplings: dict[tuple[Any, Any], Any] = {}
        for _, record in open_rows(path).records():
            if spec := record.get("spec"):
                self.runs[get_path(spec, "run_id")] = spec
            if record.get("type") == "sampling":
                # Later ones are a grader's.
                self.samplings.setdefault((record.get("run_id"), record.get("sample_id")), record.get("data"))

    def __call__(self, record: Record) -> list[Answer]:
        if record.get("type") != "match":
            raise SkippedRecord("an event without an expected answer")
        data, run = record.get("data"), self.runs.get(record.get("run_id"))
        sampling = self.samplings.get((record.get("run_id"), record.get("sample_id")))
        sampled = next((value for value in (get_path(data, "sampled"), get_path(sampling, "sampled")) if value is not None), None)
        return make_answers(
            get_path(data, "expected"),
            sampled if isinstance(sampled, list) else [] if sampled is None else [sampled],
            question=parse_question(get_path(sampling, "prompt")),
            model=values.parse_text(get_path(run, "completion_fns", 0)),
            task=values.parse_text(get_path(run, "eval_name")),
            label=values.parse_label(get_path(data, "correct")),
            id=values.parse_text(record.get("sample_id")),
        )
