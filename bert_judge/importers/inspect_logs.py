"""inspect_ai's logs, `.eval` and `.json`, through its own reader: a sample per question and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bert_judge.errors import InputError
from bert_judge.importers import values
from bert_judge.importers.answers import Answer, Record, Skipped, lettered

ENDINGS = frozenset({".eval"})
KEYS = frozenset({"eval", "plan", "samples"})


def records(path: Path) -> Iterator[tuple[str, Record]]:
    """The samples as plain objects, one at a time.

    Raises:
        InputError: inspect_ai is not installed, or cannot read the file.
    """
    log = _library()
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        header = log.read_eval_log(str(path), header_only=True)
        samples = log.read_eval_log_samples(str(path), all_samples_required=False)
        for number, sample in enumerate(samples, 1):
            yield f"sample {number}", _plain(sample, header.eval)
    except (ValueError, OSError, EOFError, KeyError, RuntimeError) as error:
        raise InputError(f"{path}: inspect_ai cannot read it: {' '.join(str(error).split())[:200]}") from error


def _library() -> Any:
    try:
        import inspect_ai.log
    except ImportError as error:
        raise InputError("reading logs of inspect_ai needs inspect_ai; pip install inspect_ai") from error
    return inspect_ai.log


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
        raise values.Unreadable(f"the sample failed: {' '.join(record['error'].split())[:100]}")
    target = record["target"]
    references = [text for text in (target if isinstance(target, list) else [target]) if text]
    if not references:
        raise Skipped("a sample without a target")
    question = record["question"]
    if record["choices"]:
        letters = [ord(text) - ord("A") for text in references if len(text) == 1]
        question, references = lettered(question, record["choices"], letters) if letters else (question, references)
    said = values.text(record["candidate"])
    return [Answer(question, tuple(references), said, record["model"], record["task"], None, record["id"], record["epoch"] - 1)]
