"""The logs and results of programs that run evaluations.

* inspect_ai: a sample per question and epoch, in a zip archive (`.eval`) or a JSON document (`.json`).
* openai/evals: a line per event. An answer is a `match` event; its prompt is in the first `sampling` of the sample.
* promptfoo: a JSON document, or a line per result. References are in the assertions or variables of a test.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from bert_judge.importers.answers import Answer, make_answers, parse_question
from bert_judge.importers.options import letter_options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.containers import sniff
from bert_judge.tables.readers.limits import check_archive
from bert_judge.tables.readers.name_words import has_role_words, has_usual_name, is_ambiguous
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows
from bert_judge.tables.readers.values import SkippedRecord, get_path

ENDINGS = frozenset({".eval"})
# Description of the run; of a run that was stopped, only the second one exists.
HEADERS = ("header.json", "_journal/start.json")
# Compression method of the members of newer logs, which Python's zipfile cannot read before 3.14.
ZSTANDARD = 93
LOCAL_HEADER_BYTES = 30


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
            run = _load(archive, stream, next(members[name] for name in HEADERS if name in members))["eval"]
            epochs = range(1, (get_path(run, "config", "epochs") or 1) + 1)
            ids = get_path(run, "dataset", "sample_ids") or []
            planned = [f"samples/{sample_id}_epoch_{epoch}.json" for sample_id in ids for epoch in epochs]
            names = dict.fromkeys(name for name in [*planned, *members] if name.startswith("samples/") and name in members)
            for number, name in enumerate(names, 1):
                yield f"sample {number}", {"sample": _load(archive, stream, members[name]), "run": run}
    except (OSError, ValueError, KeyError, StopIteration, zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(f"{path}: not a readable log of inspect_ai: {' '.join(str(error).split())[:200]}") from error


def _load(archive: zipfile.ZipFile, stream: Any, member: zipfile.ZipInfo) -> Any:
    if member.compress_type != ZSTANDARD:
        return json.loads(archive.read(member))
    stream.seek(member.header_offset)
    header = stream.read(LOCAL_HEADER_BYTES)
    # Lengths of the name and of the extra field that follow the header.
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    content = pa.input_stream(pa.py_buffer(stream.read(member.compress_size)), compression="zstd").read(member.file_size)
    return json.loads(content)


def read_sample(record: Record) -> list[Answer]:
    """Return the answer of a sample from `read_log`."""
    sample, run = record["sample"], record["run"]
    if (error := get_path(sample, "error", "message")) is not None:
        raise values.UnreadableCell(f"the sample failed: {' '.join(error.split())[:100]}")
    target = get_path(sample, "target")
    references = [text for text in (target if isinstance(target, list) else [target]) if text]
    if not references:
        raise SkippedRecord("a sample without a target")
    question, choices = parse_question(get_path(sample, "input")), get_path(sample, "choices")
    if choices and (correct := [ord(text) - ord("A") for text in references if len(text) == 1]):
        question, references = letter_options(question, choices, correct, together=True)
    choice = get_path(sample, "output", "choices", 0)
    return [
        Answer(
            question,
            tuple(references),
            values.parse_text(choice and values.parse_message(choice, values.ASSISTANT)),
            model=get_path(run, "model") or "",
            task=get_path(run, "task") or "",
            id=str(get_path(sample, "id")),
            attempt=(get_path(sample, "epoch") or 1) - 1,
        )
    ]


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


RESULT_KEYS = frozenset({"vars", "response", "provider"})
# Where a document has its results, by version.
RESULTS = ("results.results", "results")
# Assertions whose value is the whole answer, one of several, or a part; a rubric or a program is no reference.
WHOLE = ("equals", "similar", "factuality", "model-graded-factuality")
ANY_OF = ("contains-any", "icontains-any")
PARTS = ("contains", "icontains", "starts-with", "contains-all", "icontains-all")
_VARIABLE = re.compile(r"\{\{\s*(?:vars\.)?(\w+)\s*\}\}")
# A pattern that is nothing but words, or a choice of them.
_WORDS = re.compile(r"(?:\(\?i\))?\^?(?:\\b)?\(?(?:\?:)?([\w ]+(?:\|[\w ]+)*)\)?(?:\\b)?\$?")


def has_results(path: Path) -> bool:
    """Return whether a JSON document has results of promptfoo."""
    return _find_results(path) is not None


def read_results(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and content of each result."""
    key = _find_results(path) if sniff(path).format == "json" else None
    return open_rows(path).records() if key is None else json_documents.iterate_list(path, key)


def _find_results(path: Path) -> str | None:
    def is_result(value: Any) -> bool:
        return isinstance(value, Mapping) and value.keys() >= RESULT_KEYS

    return next((key for key in RESULTS if is_result(get_path(json_documents.read_member(path, key), 0))), None)


def read_result(record: Record) -> list[Answer]:
    """Return the answer of a result. Raises values.UnreadableCell: the request failed, or the test has no reference."""
    if get_path(record, "response", "output") is None:
        raise values.UnreadableCell(f"the request failed: {get_path(record, 'response', 'error') or record.get('error')}"[:200])
    variables = record["vars"] if isinstance(record["vars"], Mapping) else {}
    assertions = list(
        _flatten(get_path(record, "testCase", "assert") or get_path(record, "gradingResult", "componentResults") or [])
    )
    question = next((value for name, value in variables.items() if has_usual_name(name, "question")), None)
    provider = record["provider"]
    return make_answers(
        _find_references(assertions, variables) or _expected_variables(variables),
        [_text(record["response"]["output"])],
        question=parse_question(question or get_path(record, "prompt", "raw")),
        model=provider if isinstance(provider, str) else str(get_path(provider, "label") or get_path(provider, "id") or ""),
        label=values.parse_label(record.get("success")),
    )


def _flatten(assertions: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the assertions, also those in sets and in the results of assertions."""
    for assertion in assertions:
        if isinstance(members := get_path(assertion, "assert"), list):
            yield from _flatten(members)
        elif isinstance(assertion, Mapping):
            yield assertion["assertion"] if isinstance(assertion.get("assertion"), Mapping) else assertion


def _find_references(assertions: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> list[str]:
    whole: list[str] = []
    alternatives: list[str] = []
    parts: list[str] = []
    for assertion in assertions:
        kind, value = assertion.get("type"), assertion.get("value")
        if kind == "regex" and (words := _WORDS.fullmatch(str(value))):
            kind, value = "contains-any", words[1].split("|")
        if isinstance(value, str) and kind in ANY_OF:
            value = value.split(",")
        texts = [_render(member, variables) for member in (value if isinstance(value, list) and kind not in WHOLE else [value])]
        # A template that is unknown here, or a file.
        texts = [text for text in texts if text and "{{" not in text and not text.startswith("file://")]
        group = whole if kind in WHOLE else alternatives if kind in ANY_OF else parts if kind in PARTS else []
        group += texts
    return whole or alternatives or ([", ".join(parts)] if parts else [])


def _render(value: Any, variables: Mapping[str, Any]) -> str:
    return _VARIABLE.sub(lambda match: _text(variables.get(match[1], match[0])), _text(value)).strip()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else values.parse_text(value)


def _expected_variables(variables: Mapping[str, Any]) -> Any:
    names = [name for name in variables if has_usual_name(name, "references") or has_role_words(name, "references")]
    names += filter(is_ambiguous, variables)
    return variables[names[0]] if names else []
