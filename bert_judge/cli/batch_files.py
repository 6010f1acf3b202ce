"""`bert-judge requests` and `responses`: generate answers through a batch API.

Requests are written to a file and sent by the user; their responses are added to the model's cache, where the next run finds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bert_judge import plan
from bert_judge.candidates.generators import make_generator, openai_format
from bert_judge.candidates.generators.cache import to_row
from bert_judge.candidates.generators.openai_format import MalformedResponseError
from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.stage import answer_cache, plan_requests, with_runtime_settings
from bert_judge.cli.options import ConfigFiles, DataFolder, Settings, read_config
from bert_judge.config import OpenAIModel
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

ENDPOINT = "/v1/chat/completions"


class _BatchRequests(NamedTuple):
    """All requests to a model for a task: its settings, its cache folder, and content key → request."""

    settings: dict[str, Any]
    store: Path
    requests: dict[str, Request]


def requests(
    model: Annotated[str, typer.Argument(help="Model behind a server.")],
    task: Annotated[str, typer.Argument(help="Task whose table is in results/tasks.")],
    configfile: ConfigFiles = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Print requests for missing answers, one per line, in the format of batch APIs."""
    batch = _load_requests(read_config(configfile, settings, data), model, task)
    for key in resume.missing_keys(batch.store, batch.requests):
        call = {"custom_id": key, "method": "POST", "url": ENDPOINT}
        body = openai_format.request_body(batch.settings, batch.requests[key])
        typer.echo(json.dumps(call | {"body": body}, ensure_ascii=False))


def responses(
    model: Annotated[str, typer.Argument(help="Model behind a server.")],
    task: Annotated[str, typer.Argument(help="Task of the requests.")],
    file: Annotated[Path, typer.Argument(help="Responses, one per line, in any order.")],
    configfile: ConfigFiles = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Import responses; the next run uses them and generates only what is missing or failed."""
    batch = _load_requests(read_config(configfile, settings, data), model, task)
    answers: dict[str, dict[str, Any]] = {}
    failed = unknown = 0
    for key, body in _parse_responses(file):
        if key not in batch.requests:
            unknown += 1
            continue
        try:
            completion = openai_format.parse_response(body, batch.settings["reasoning_end"])
            answers[key] = to_row(batch.requests[key], completion)
        except MalformedResponseError:
            failed += 1
    resume.save_shard(batch.store, answers)
    total, missing = len(batch.requests), len(resume.missing_keys(batch.store, batch.requests))
    unknown_note = f", {unknown} for unknown requests" if unknown else ""
    typer.echo(f"{len(answers)} answers of {model} to {task}, {failed} failed{unknown_note}; {missing} of {total} are missing")


def _load_requests(config: tuple[list[Path], dict[str, Any]], model: str, task: str) -> _BatchRequests:
    files, raw = config
    planned = plan.build_plan(raw, files)
    server_models = [name for name, entry in planned.models.items() if isinstance(entry, OpenAIModel)]
    if model not in server_models:
        raise InputError(f"{model}: not a model behind a server; available: {', '.join(server_models) or 'none'}")
    if task not in planned.tasks:
        raise InputError(f"{task}: not a task of this configuration; available: {', '.join(planned.tasks)}")
    table = Path("results", "tasks", f"{task}.parquet")
    if not table.exists():
        raise InputError(f"{table}: no such file; run snakemake {table} first")
    spec = planned.candidates_spec(model, task)
    settings = with_runtime_settings(spec["settings"], raw["models"][model])
    store = resume.store_folder(model)
    cache = answer_cache(spec, store, lambda: make_generator(model, settings, None))
    return _BatchRequests(settings, store, {cache.key(request): request for request in plan_requests(spec, table)})


def _parse_responses(source: Path) -> Iterator[tuple[str, Any]]:
    """Yield content key and body of each response."""
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
