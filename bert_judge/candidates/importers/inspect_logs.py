"""inspect_ai's logs: a sample per question and epoch. inspect_ai itself reads `.eval`; a `.json` of any year is streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, SkippedRecord, get_path, parse_question
from bert_judge.candidates.importers.options import letter_options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.rows import LocatedRecord, Record

ENDINGS = frozenset({".eval"})
BATCH_SAMPLES = 256
# Fields that are not read: transcripts may take megabytes per sample.
UNUSED_FIELDS = {"attachments", "events", "messages", "store"}
# Sample ids with epochs; a function that reads them from a log, and raises an IndexError if one is missing.
SampleIds = Sequence[tuple[str | int, int]]
ReadSamples = Callable[[SampleIds], Sequence[Any]]


def read_log(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and plain object of each sample, in batches.

    Raises:
        InputError: inspect_ai is needed but not installed or too old, or the file is damaged.
    """
    if path.suffix not in ENDINGS:
        run = json_documents.read_member(path, "eval")
        for location, sample in json_documents.iterate_list(path, "samples.item"):
            yield location, _read_document_sample(sample, run)
        return
    library = _import_library()
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        header = library.read_eval_log(str(path), header_only=True)
        for number, sample in enumerate(_samples(library, path, header.eval), 1):
            yield f"sample {number}", _to_record(sample, header.eval)
    except (ValueError, OSError, EOFError, KeyError, RuntimeError) as error:
        raise InputError(f"{path}: inspect_ai cannot read it: {' '.join(str(error).split())[:200]}") from error


def _read_document_sample(sample: Any, run: Any) -> dict[str, Any]:
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


def _import_library() -> Any:
    try:
        import inspect_ai.log
    except ImportError as error:
        raise InputError("reading logs of inspect_ai needs inspect_ai; pip install inspect_ai") from error
    if not hasattr(inspect_ai.log, "read_eval_log_samples_by_id_async"):
        raise InputError("reading logs of inspect_ai needs a newer inspect_ai; pip install --upgrade inspect_ai")
    return inspect_ai.log


def _samples(library: Any, path: Path, run: Any) -> Iterator[Any]:
    """Yield the samples in the order of the run; samples that the run did not reach are missing from the log."""
    if run.dataset.sample_ids is None:
        raise ValueError("it has no list of its samples; convert it with inspect log convert")
    planned = product(run.dataset.sample_ids, range(1, (run.config.epochs or 1) + 1))
    read_samples = _archive_reader(library, path)
    while batch := list(islice(planned, BATCH_SAMPLES)):
        try:
            yield from read_samples(batch)
        except IndexError:
            # One of them is missing, as in the log of a run that was stopped.
            for sample_id in batch:
                with suppress(IndexError):
                    yield from read_samples([sample_id])


def _archive_reader(library: Any, path: Path) -> ReadSamples:
    """Return a reader that loads the archive's directory once, which takes seconds for a million members.

    inspect_ai's documented functions load it in each call.
    """
    try:
        from inspect_ai._util._async import run_coroutine
        from inspect_ai._util.async_zip import AsyncZipReader
        from inspect_ai._util.asyncfiles import get_async_filesystem
    except ImportError as error:
        raise InputError("this version of inspect_ai is not supported; pip install inspect_ai==0.3.285") from error
    directory: Any = None

    async def read_samples(batch: SampleIds) -> Sequence[Any]:
        nonlocal directory
        reader = AsyncZipReader(get_async_filesystem(), str(path), central_directory=directory)
        directory = await reader.entries()
        return await library.read_eval_log_samples_by_id_async(str(path), batch, exclude_fields=UNUSED_FIELDS, reader=reader)

    return lambda batch: run_coroutine(read_samples(batch))


def _to_record(sample: Any, run: Any) -> dict[str, Any]:
    question = sample.input
    if not isinstance(question, str):
        question = next((message.text for message in reversed(question) if message.role == "user"), "")
    return {
        "id": str(sample.id),
        "epoch": sample.epoch,
        "question": question,
        "choices": sample.choices,
        "target": sample.target,
        "candidate": sample.output.completion if sample.output.choices else None,
        "error": sample.error.message if sample.error else None,
        "model": run.model,
        "task": run.task,
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
        question, references = letter_options(question, record["choices"], correct) if correct else (question, references)
    candidate, attempt = values.parse_text(record["candidate"]), record["epoch"] - 1
    return [Answer(question, tuple(references), candidate, record["model"], record["task"], None, record["id"], attempt)]
