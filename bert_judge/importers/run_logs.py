"""The logs and results of programs that run evaluations.

* inspect_ai: a sample per question and epoch, in a zip archive (`.eval`) or a JSON document (`.json`).
* openai/evals: a line per event. An answer is a `match` event; its prompt is in the first `sampling` of the sample.
"""

import json
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from bert_judge.importers.answers import Answer, make_answers, parse_question
from bert_judge.importers.options import add_options, letter_options, parse_labels
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import log_once
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.limits import check_archive
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows
from bert_judge.tables.readers.values import SkippedRecord, get_path

ENDINGS = frozenset({".eval"})
# Description of the run; of a run that was stopped, only the second one exists.
HEADERS = ("header.json", "_journal/start.json")
# Compression method of the members of newer logs, which Python's zipfile cannot read before 3.14.
ZSTANDARD = 93
LOCAL_HEADER_BYTES = 30
# What the scorers write: correct, incorrect, no answer.
VERDICTS = {"C": 1.0, "I": 0.0, "N": 0.0}
log = logging.getLogger(__name__)


def is_log(path: Path) -> bool:
    """Return whether a JSON document is a log without a plan: a task, and samples with a target and an output."""
    sample = get_path(json_documents.read_member(path, "samples"), 0)
    has_task = get_path(json_documents.read_member(path, "eval"), "task") is not None
    return has_task and isinstance(sample, dict) and {"target", "output"} <= sample.keys()


def read_log(path: Path) -> Iterator[LocatedRecord]:
    """Yield location, and sample and run, of each sample. Raises InputError: the file is damaged."""
    if path.suffix in ENDINGS:
        yield from _read_archive(path)
        return
    run = json_documents.read_member(path, "eval")
    for location, sample in json_documents.iterate_list(path, "samples"):
        yield location, {"sample": sample, "run": run}


def _read_archive(path: Path) -> Iterator[LocatedRecord]:
    """Yield the samples in the order of the run; those that the run did not reach are missing."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        check_archive(path)
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            members = {member.filename: member for member in archive.infolist()}
            run = load_member(archive, stream, next(members[name] for name in HEADERS if name in members))["eval"]
            epochs = range(1, (get_path(run, "config", "epochs") or 1) + 1)
            ids = get_path(run, "dataset", "sample_ids") or []
            planned = [f"samples/{sample_id}_epoch_{epoch}.json" for sample_id in ids for epoch in epochs]
            names = dict.fromkeys(name for name in [*planned, *members] if name.startswith("samples/") and name in members)
            for number, name in enumerate(names, 1):
                yield f"sample {number}", {"sample": load_member(archive, stream, members[name]), "run": run}
    except (OSError, ValueError, KeyError, StopIteration, zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(f"{path}: not a readable log of inspect_ai: {' '.join(str(error).split())[:200]}") from error


def load_member(archive: zipfile.ZipFile, stream: Any, member: zipfile.ZipInfo) -> Any:
    if member.compress_type != ZSTANDARD:
        return json.loads(archive.read(member))
    stream.seek(member.header_offset)
    header = stream.read(LOCAL_HEADER_BYTES)
    # Lengths of the name and of the extra field that follow the header.
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    content = pa.input_stream(pa.py_buffer(stream.read(member.compress_size)), compression="zstd").read(member.file_size)
    return json.loads(content)


def read_sample(record: Record) -> list[Answer]:
    """Return the answer of a sample from `read_log`, with the first of its scores that is a verdict as the label.

    An answer in `<think>` is none: inspect_ai removes the reasoning of the providers that mark it before its scorers read the rest,
    but the scorers read what a provider leaves in the text.
    """
    sample, run = record["sample"], record["run"]
    if (error := get_path(sample, "error", "message")) is not None:
        raise values.UnreadableCell(f"the sample failed: {' '.join(error.split())[:100]}")
    target = get_path(sample, "target")
    references = [text for text in (target if isinstance(target, list) else [target]) if text]
    if not references:
        raise SkippedRecord("a sample without a target")
    question, choices = parse_question(get_path(sample, "input")), get_path(sample, "choices")
    if choices and (correct := None if set(references) <= set(choices) else parse_labels(references, len(choices))):
        question, references = letter_options(question, choices, correct, together=True)
    elif choices:
        question = add_options(question, choices)
    choice = get_path(sample, "output", "choices", 0)
    return [
        Answer(
            question,
            tuple(references),
            values.parse_text(choice and values.parse_message(choice, values.ASSISTANT)),
            model=get_path(run, "model") or "",
            task=get_path(run, "task") or "",
            label=_find_verdict(get_path(sample, "scores")),
            id=str(get_path(sample, "id")),
            attempt=(get_path(sample, "epoch") or 1) - 1,
        )
    ]


def _find_verdict(scores: Any) -> float | None:
    """Return the first score that is a verdict: a letter, a truth value, or 1 or 0; partial credit is none."""
    for name, score in (scores or {}).items():
        value = get_path(score, "value")
        label = VERDICTS.get(value) if isinstance(value, str) else float(value) if value in (0, 1) else None
        if label is not None:
            if len(scores) > 1:
                log_once(log, f"labels are the score {name!r}, not {' or '.join(repr(score) for score in scores if score != name)}")
            return label
    return None


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
