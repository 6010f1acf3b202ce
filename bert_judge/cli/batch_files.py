"""`bert-judge requests` and `responses`: a model asked by a file, as OpenAI's batch interface and others take it.

The requests are written, sent by whatever means, and their responses put into the model's store, where the next run finds them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge import plan
from bert_judge.candidates.generators import openai_format
from bert_judge.candidates.generators.cache import to_row
from bert_judge.candidates.generators.factory import make_generator
from bert_judge.candidates.generators.openai_format import MalformedResponseError
from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.stage import answer_cache, plan_requests, with_runtime_settings
from bert_judge.config import OpenAIModel
from bert_judge.config import files as config_files
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

ENDPOINT = "/v1/chat/completions"


class _Open(NamedTuple):
    """What a model has to be asked: its settings, its store, and content key → request."""

    settings: dict[str, Any]
    store: Path
    requests: dict[str, Request]


def requests(files: Sequence[Path], model: str, task: str, root: Path = Path("results")) -> Iterator[str]:
    """One line of JSON for each answer that is missing.

    Args:
        files: configuration files.
        root: folder of the run's results, with the task's table in it.

    Raises:
        InputError: the configuration has faults, the model is none of a server, or the task's table is not there.
    """
    found = _open(files, model, task, root)
    for key in resume.missing_keys(found.store, found.requests):
        call = {"custom_id": key, "method": "POST", "url": ENDPOINT}
        yield json.dumps(call | {"body": openai_format.request_body(found.settings, found.requests[key])}, ensure_ascii=False)


def responses(files: Sequence[Path], model: str, task: str, source: Path, root: Path = Path("results")) -> str:
    """Put the responses to `requests` into the store; says what became of them.

    Args:
        source: a line of JSON for each response, in any order. One that failed is left out, and so asked for again.

    Raises:
        InputError: as for `requests`; or a line that is no response.
    """
    found = _open(files, model, task, root)
    answers: dict[str, dict[str, Any]] = {}
    failed = unknown = 0
    for key, body in _lines(source):
        if key not in found.requests:
            unknown += 1
            continue
        try:
            completion = openai_format.parse_response(body, found.settings["reasoning_end"])
            answers[key] = to_row(found.requests[key], completion)
        except MalformedResponseError:
            failed += 1
    resume.save_shard(found.store, answers)
    missing = len(resume.missing_keys(found.store, found.requests))
    others = f", {unknown} of other requests" if unknown else ""
    return f"{len(answers)} answers of {model} to {task}, {failed} failed{others}; {missing} of {len(found.requests)} are missing"


def _open(files: Sequence[Path], model: str, task: str, root: Path) -> _Open:
    raw = config_files.merge(files)
    made = plan.make(raw, files)
    served = [name for name, entry in made.models.items() if isinstance(entry, OpenAIModel)]
    if model not in served:
        raise InputError(f"{model}: not a model of a server; there are: {', '.join(served) or 'none'}")
    if task not in made.tasks:
        raise InputError(f"{task}: not a task of this configuration; there are: {', '.join(made.tasks)}")
    table = root / "tasks" / f"{task}.parquet"
    if not table.exists():
        raise InputError(f"{table}: no such file; run snakemake {table} first")
    spec = made.candidates_spec(model, task)
    settings = with_runtime_settings(spec["settings"], raw["models"][model])
    store = resume.store_folder(model, root)
    cache = answer_cache(spec, store, lambda: make_generator(model, settings, None))
    return _Open(settings, store, {cache.key(request): request for request in plan_requests(spec, table)})


def _lines(source: Path) -> Iterator[tuple[str, Any]]:
    """Content key and body of each response.

    Raises:
        InputError: names the line that is none.
    """
    try:
        text = source.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not UTF-8 text") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            key, response = str(value["custom_id"]), value.get("response") or {}
            yield key, response.get("body") if response.get("status_code", 200) == 200 else None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{source}, line {number}: not a response with a custom_id; name the file of responses") from error
