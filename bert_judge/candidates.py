"""The stage that writes a model's answers to a task: read from a file, or generated in shards that survive a kill."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import shards, tables
from bert_judge.errors import InputError
from bert_judge.generators.protocol import Completion, Generator, Request
from bert_judge.importers import task_rows
from bert_judge.tasks import Sample
from bert_judge.tasks.prompts import prompt

log = logging.getLogger(__name__)

# Answers per shard: the most that a kill can lose.
SHARD_ROWS = 256


def import_candidates(spec: Mapping[str, Any], task_table: str | Path, source: str | Path, output: str | Path) -> None:
    """Write the answers that a file holds of one model: every row of it, numbered per question in the file's order.

    Args:
        spec: `Plan.candidates_spec` of an imported model.
        source: the file that the task was made of.

    Raises:
        InputError: the file cannot be read, or holds questions that the task table lacks.
    """
    asked = set(tables.read(task_table, tables.TASK)["sample_id"])
    rows = task_rows.of_task(spec, source, ["candidate"], model=spec["settings"]["named"])
    if unknown := set(rows["sample_id"]) - asked:
        raise InputError(f"{task_table}: {len(unknown)} questions of {source} are not in it; make the task table anew")
    rows = rows.assign(model=spec["model"], status="imported", reasoning=None, prompt_tokens=None, completion_tokens=None)
    tables.write(rows, output, tables.CANDIDATES, spec)
    answered = rows["sample_id"].nunique()
    level = logging.INFO if answered else logging.WARNING
    log.log(level, "%s answers %d of %d questions of %s", spec["model"], answered, len(asked), spec["task"])


def generate_candidates(
    spec: Mapping[str, Any],
    task_table: str | Path,
    output: str | Path,
    work_folder: str | Path,
    make_generator: Callable[[], Generator],
    revisions: Mapping[str, str] | None = None,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Have a model answer every question of a task, as often as its setting `attempts` says, and write the answers.

    Args:
        spec: `Plan.candidates_spec` of a model that is no imported one.
        work_folder: keeps the finished shards until the table is written. An answer is taken from there only if spec, revisions
            and prompt are the same.
        make_generator: loads the model; called only when an answer is missing.
        revisions: of the model, as far as known without loading it.
        shard_rows: answers per shard, the most that a kill can lose.
    """
    revisions = dict(revisions or {})
    requests = _requests(spec, tables.read(task_table, tables.TASK))
    origin = tables.canonical({"spec": spec, "revisions": revisions})
    keys = [shards.content_key(origin, request.sample_id, request.attempt, request.prompt) for request in requests]
    loaded: list[Generator] = []

    def work(shard: Sequence[Request]) -> list[dict[str, Any]]:
        if not loaded:
            loaded.append(make_generator())
        return [_plain(completion) for completion in loaded[0].generate(shard)]

    answers = shards.run(requests, keys, work, work_folder, shard_rows, what="answers")
    for generator in loaded:
        revisions |= generator.revisions
    frame = pd.DataFrame(
        [_row(spec["model"], *pair) for pair in zip(requests, answers, strict=True)], columns=tables.CANDIDATES.names
    )
    tables.write(frame, output, tables.CANDIDATES, spec, revisions)
    shards.clear(work_folder)
    counts = frame["status"].value_counts()
    log.info("%s, %s: %s", spec["model"], spec["task"], ", ".join(f"{count} {status}" for status, count in counts.items()))


def _requests(spec: Mapping[str, Any], task: pd.DataFrame) -> list[Request]:
    requests = []
    for row in task.to_dict("records"):
        choices = None if row["choices"] is None else tuple(row["choices"])
        sample = Sample(row["question"], tuple(row["references"]), row["answer_kind"], choices)
        text = prompt(sample, spec["family"], spec["prompt_style"])
        requests += [Request(row["sample_id"], attempt, text, sample) for attempt in range(spec["settings"].get("attempts", 1))]
    return requests


def _plain(completion: Completion) -> dict[str, Any]:
    """A completion as values that a shard can hold."""
    reasoning = completion.reasoning
    storable = {"text": tables.storable(completion.text), "reasoning": None if reasoning is None else tables.storable(reasoning)}
    return asdict(completion) | storable


def _row(model: str, request: Request, answer: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the table."""
    return {
        "sample_id": request.sample_id,
        "attempt": request.attempt,
        "question": request.sample.question,
        "references": list(request.sample.references),
        "model": model,
        "candidate": answer["text"],
        **{name: answer[name] for name in ("reasoning", "status", "prompt_tokens", "completion_tokens")},
    }
