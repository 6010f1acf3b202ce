"""inspect_ai's logs, `.eval` and `.json`, through its own reader: a sample per question and epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record, Skipped, lettered
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values

ENDINGS = frozenset({".eval"})
KEYS = frozenset({"eval", "plan", "samples"})
# Samples that are read together, and parts of them that are not read: transcripts may take megabytes each.
AT_ONCE = 256
UNUSED = {"attachments", "events", "messages", "store"}
# Ids of samples with their epochs; what reads those of one log, and raises an IndexError where it lacks one.
Some = Sequence[tuple[str | int, int]]
Read = Callable[[Some], Sequence[Any]]


def records(path: Path) -> Iterator[tuple[str, Record]]:
    """The samples as plain objects, `AT_ONCE` at a time; those of a `.json` log are in memory together, in inspect's reader.

    Raises:
        InputError: inspect_ai is not installed or too old, or cannot read the file.
    """
    log = _library()
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        header = log.read_eval_log(str(path), header_only=True)
        for number, sample in enumerate(_samples(log, path, header.eval), 1):
            yield f"sample {number}", _plain(sample, header.eval)
    except (ValueError, OSError, EOFError, KeyError, RuntimeError) as error:
        raise InputError(f"{path}: inspect_ai cannot read it: {' '.join(str(error).split())[:200]}") from error


def _library() -> Any:
    try:
        import inspect_ai.log
    except ImportError as error:
        raise InputError("reading logs of inspect_ai needs inspect_ai; pip install inspect_ai") from error
    if not hasattr(inspect_ai.log, "read_eval_log_samples_by_id_async"):
        raise InputError("reading logs of inspect_ai needs a newer inspect_ai than the one here; pip install --upgrade inspect_ai")
    return inspect_ai.log


def _samples(log: Any, path: Path, run: Any) -> Iterator[Any]:
    """The samples that the log has of those that were to be run, in the run's order."""
    if run.dataset.sample_ids is None:
        raise ValueError("it has no list of its samples; write it anew with inspect log convert")
    planned = product(run.dataset.sample_ids, range(1, (run.config.epochs or 1) + 1))
    read = _archive(log, path) if path.suffix in ENDINGS else _document(log, path)
    while some := list(islice(planned, AT_ONCE)):
        try:
            yield from read(some)
        except IndexError:
            # One of them is missing, as in the log of a run that was stopped.
            for one in some:
                with suppress(IndexError):
                    yield from read([one])


def _document(log: Any, path: Path) -> Read:
    return lambda some: log.read_eval_log_samples_by_id(str(path), some, exclude_fields=UNUSED)


def _archive(log: Any, path: Path) -> Read:
    """What reads an archive with one look at its list of members, which takes seconds where there are a million of them.

    Inspect's functions look at it in each call. The reader that takes a list is not among what inspect_ai documents.
    """
    try:
        from inspect_ai._util._async import run_coroutine
        from inspect_ai._util.async_zip import AsyncZipReader
        from inspect_ai._util.asyncfiles import get_async_filesystem
    except ImportError as error:
        raise InputError("this inspect_ai reads its logs in another way than known; pip install inspect_ai==0.3.285") from error
    members: Any = None

    async def reading(some: Some) -> Sequence[Any]:
        nonlocal members
        reader = AsyncZipReader(get_async_filesystem(), str(path), central_directory=members)
        members = await reader.entries()
        return await log.read_eval_log_samples_by_id_async(str(path), some, exclude_fields=UNUSED, reader=reader)

    return lambda some: run_coroutine(reading(some))


def _plain(sample: Any, run: Any) -> dict[str, Any]:
    asked = sample.input
    if not isinstance(asked, str):
        asked = next((message.text for message in reversed(asked) if message.role == "user"), "")
    return {
        "id": str(sample.id),
        "epoch": sample.epoch,
        "question": asked,
        "choices": sample.choices,
        "target": sample.target,
        "candidate": sample.output.completion if sample.output.choices else None,
        "error": sample.error.message if sample.error else None,
        "model": run.model,
        "task": run.task,
    }


def read(record: Record) -> list[Answer]:
    """The answer of a sample as `records` gives it."""
    if record["error"] is not None:
        raise values.UnreadableCell(f"the sample failed: {' '.join(record['error'].split())[:100]}")
    target = record["target"]
    references = [text for text in (target if isinstance(target, list) else [target]) if text]
    if not references:
        raise Skipped("a sample without a target")
    question = record["question"]
    if record["choices"]:
        letters = [ord(text) - ord("A") for text in references if len(text) == 1]
        question, references = lettered(question, record["choices"], letters) if letters else (question, references)
    said = values.parse_text(record["candidate"])
    return [Answer(question, tuple(references), said, record["model"], record["task"], None, record["id"], record["epoch"] - 1)]
