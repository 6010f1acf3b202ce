"""The stage that writes a model's answers to a task: read from a file, or generated in shards that survive a kill."""

import logging
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators import make_generator
from bert_judge.candidates.generators.cache import CachedGenerator
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.importers import files
from bert_judge.perturbations.simulated_answers import find_similar_answers
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.resume import Batch
from bert_judge.tasks import Sample
from bert_judge.tasks.build import build_task
from bert_judge.tasks.registry import prompt

log = logging.getLogger(__name__)

# Answers per shard, the most that a kill can lose.
SHARD_ROWS = 256
# Error reasons listed in a log line.
MAX_REASONS = 3


def import_candidates(spec: Mapping[str, Any], task_table: str | Path, source: str | Path, output: str | Path) -> None:
    """Write the answers of one model in a file: every row of it, numbered per question in the file's order.

    Raises:
        InputError: the file cannot be read, or contains questions that the task table lacks.
    """
    task_ids = set(tables.read(task_table, tables.TASK)["sample_id"])
    rows = files.read_task_rows(spec, source, ["candidate"], model=spec["settings"]["model_name"])
    if unknown := set(rows["sample_id"]) - task_ids:
        raise InputError(f"{task_table}: lacks {len(unknown)} questions of {source}; rebuild the task table")
    rows = rows.assign(
        model=spec["model"], status="imported", reasoning=None, reason=None, prompt_tokens=None, completion_tokens=None
    )
    tables.write(rows, output, tables.CANDIDATES, spec)
    answered = rows["sample_id"].nunique()
    level = logging.INFO if answered else logging.WARNING
    log.log(level, "%s answers %d of %d questions of %s", spec["model"], answered, len(task_ids), spec["task"])


def generate_candidates(
    spec: Mapping[str, Any],
    task_table: str | Path,
    output: str | Path,
    cache: CachedGenerator,
    *,
    keep: bool = True,
) -> None:
    """Generate a model's answers to every question of a task, `attempts` per question, and write them.

    `keep`: leave the answers in the cache's folder; otherwise they are deleted once the table is written.
    """
    requests = plan_requests(spec, task_table)
    completions = cache.generate(requests)
    rows = [_to_row(spec["model"], request, completion) for request, completion in zip(requests, completions, strict=True)]
    frame = pd.DataFrame(rows, columns=tables.CANDIDATES.names)
    tables.write(frame, output, tables.CANDIDATES, spec, revisions=cache.revisions)
    if not keep:
        resume.clear(cache.folder)
    log.info("%s, %s: %s", spec["model"], spec["task"], summarize_statuses(frame))


def pregenerate_answers(batch: Batch, output: str | Path, cache: CachedGenerator) -> None:
    """Generate all answers that several tables lack, loading the model once; `generate_candidates` then only writes the tables.

    Args:
        batch: the tables, all of one model. Their questions are built again here, which is cheap: if the task tables were inputs
            of this job, new questions of one task would make all the others stale.
    """
    requests: list[Request] = []
    with tempfile.TemporaryDirectory() as scratch:
        for task, specs in batch.specs.items():
            table = Path(scratch, f"{task}.parquet")
            build_task(specs["questions"], table, batch.inputs.get(f"source {task}"), batch.inputs.get(f"manifest {task}"))
            requests += plan_requests(specs["answers"], table)
    cache.generate(requests)
    resume.write_manifest(batch, output)


def plan_requests(spec: Mapping[str, Any], task_table: str | Path) -> list[Request]:
    """Return the requests of a candidates table: every question, `attempts` times."""
    requests, samples = [], read_samples(task_table)
    similar = find_similar_answers(samples) if spec["settings"]["generator"] == "simulated" else {}
    for sample_id, sample in samples.items():
        text, alternatives = prompt(sample, spec["family"], spec["prompt_style"]), similar.get(sample_id, ())
        attempts = range(spec["settings"].get("attempts", 1))
        requests += [Request(sample_id, attempt, text, sample, similar=alternatives) for attempt in attempts]
    return requests


def read_samples(task_table: str | Path) -> dict[str, Sample]:
    """Read the questions of a task, by sample_id, in the order of the table."""
    return {
        row["sample_id"]: Sample(
            row["question"],
            tuple(row["references"]),
            row["answer_kind"],
            None if row["choices"] is None else tuple(row["choices"]),
        )
        for row in tables.read(task_table, tables.TASK).to_dict("records")
    }


def answer_cache(
    spec: Mapping[str, Any],
    folder: str | Path,
    make_generator: Callable[[], Generator],
    revisions: Mapping[str, str] | None = None,
    *,
    shard_rows: int = SHARD_ROWS,
) -> CachedGenerator:
    """Return the model of a spec with its answers cached in a folder.

    An answer is reused if model, revision, settings and prompt agree, regardless of task, limit and number of attempts. An
    error of a server is written to the table but not cached, so the next run asks again.
    """
    settings = {key: value for key, value in spec["settings"].items() if key != "attempts"}
    return CachedGenerator(
        {"model": spec["model"], "settings": settings},
        folder,
        make_generator,
        revisions,
        by_sample=settings["generator"] == "simulated",
        retry_errors=settings["generator"] == "openai",
        shard_rows=shard_rows,
    )


def load_model(
    spec: Mapping[str, Any],
    folder: str | Path,
    block: Mapping[str, Any] | None,
    manifest: str | Path | None,
    *,
    shard_rows: int = SHARD_ROWS,
) -> CachedGenerator:
    """Return the model of a spec as in `answer_cache`, with the settings of its block in the configuration.

    Args:
        block: None for a student, whose spec holds all its settings.
    """
    model, path = spec["model"], Path(manifest) if manifest else None
    settings = with_runtime_settings(spec["settings"], block) if block else spec["settings"]
    revisions = {model: load_manifest(path).revision} if path else None
    return answer_cache(spec, folder, lambda: make_generator(model, settings, path), revisions, shard_rows=shard_rows)


def with_runtime_settings(settings: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a spec's settings those of the model's block that do not change answers, which the spec leaves out."""
    from pydantic import TypeAdapter

    from bert_judge.config import Model

    block: Any = TypeAdapter(Model).validate_python(entry, by_alias=True, by_name=False)
    return {**settings, **block.model_dump(mode="json", include=set(block.run_time))}


def summarize_statuses(frame: pd.DataFrame) -> str:
    """Count the statuses of a table's answers and the most frequent error reasons, in one line."""
    counts = ", ".join(f"{count} {status}" for status, count in frame["status"].value_counts().items())
    reasons = frame["reason"].value_counts()
    listed = [f"{count} x {reason}" for reason, count in reasons.head(MAX_REASONS).items()]
    num_unlisted = len(reasons) - len(listed)
    more = [f"and {num_unlisted} other reasons"] if num_unlisted else []
    return "; ".join([counts or "no answers", *listed, *more])


def _to_row(model: str, request: Request, completion: Completion) -> dict[str, Any]:
    return {
        "sample_id": request.sample_id,
        "attempt": request.attempt,
        "question": request.sample.question,
        "references": list(request.sample.references),
        "model": model,
        "candidate": completion.text,
        **{name: getattr(completion, name) for name in ("reason", "reasoning", "status", "prompt_tokens", "completion_tokens")},
    }
