"""inspect_ai's logs: a sample per question and epoch, in a zip archive (`.eval`) or a JSON document (`.json`)."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from bert_judge.importers.answers import Answer, SkippedRecord, parse_question
from bert_judge.importers.options import letter_options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.limits import check_archive
from bert_judge.tables.readers.rows import LocatedRecord, Record
from bert_judge.tables.readers.values import get_path

ENDINGS = frozenset({".eval"})
# Description of the run; of a run that was stopped, only the second one exists.
HEADERS = ("header.json", "_journal/start.json")
# Compression method of the members of newer logs, which Python's zipfile cannot read before 3.14.
ZSTANDARD = 93
LOCAL_HEADER_BYTES = 30


def read_log(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and plain object of each sample. Raises InputError: the file is damaged."""
    if path.suffix in ENDINGS:
        yield from _read_archive(path)
        return
    run = json_documents.read_member(path, "eval")
    for location, sample in json_documents.iterate_list(path, "samples"):
        yield location, _to_record(sample, run)


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
                yield f"sample {number}", _to_record(_load(archive, stream, members[name]), run)
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


def _to_record(sample: Any, run: Any) -> dict[str, Any]:
    choice = get_path(sample, "output", "choices", 0)
    return {
        "id": str(get_path(sample, "id")),
        "epoch": get_path(sample, "epoch") or 1,
        "question": parse_question(get_path(sample, "input")),
        "choices": get_path(sample, "choices"),
        "target": get_path(sample, "target"),
        "candidate": choice and values.parse_message(choice, values.ASSISTANT),
        "error": get_path(sample, "error", "message"),
        "model": get_path(run, "model") or "",
        "task": get_path(run, "task") or "",
    }


def read_sample(record: Record) -> list[Answer]:
    """Return the answer of a sample from `read_log`."""
    if record["error"] is not None:
        raise values.UnreadableCell(f"the sample failed: {' '.join(record['error'].split())[:100]}")
    target = record["target"]
    references = [text for text in (target if isinstance(target, list) else [target]) if text]
    if not references:
        raise SkippedRecord("a sample without a target")
    question = record["question"]
    if record["choices"]:
        correct = [ord(text) - ord("A") for text in references if len(text) == 1]
        question, references = (
            letter_options(question, record["choices"], correct, together=True) if correct else (question, references)
        )
    candidate, attempt = values.parse_text(record["candidate"]), record["epoch"] - 1
    return [Answer(question, tuple(references), candidate, record["model"], record["task"], None, record["id"], attempt)]
