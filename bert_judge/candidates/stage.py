"""The stage that writes a model's answers to a task: read from a file, or generated in shards that survive a kill."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from bert_judge import tables
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.candidates.importers import task_rows
from bert_judge.runtime import resume, sigterm
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample
from bert_judge.tasks.build import build_task
from bert_judge.tasks.prompts import prompt

if TYPE_CHECKING:
    from bert_judge.runtime.batch_manifest import Batch

log = logging.getLogger(__name__)

# Answers per shard: the most that a kill can lose.
SHARD_ROWS = 256
# Reasons of failed answers that a log line tells.
SHOWN_REASONS = 3


def import_candidates(spec: Mapping[str, Any], task_table: str | Path, source: str | Path, output: str | Path) -> None:
    """Write the answers that a file holds of one model: every row of it, numbered per question in the file's order.

    Args:
        spec: `Plan.candidates_spec` of an imported model.
        source: the file that the task was made of.

    Raises:
        InputError: the file cannot be read, or holds questions that the task table lacks.
    """
    asked = set(tables.read(task_table, tables.TASK)["sample_id"])
    rows = task_rows.of_task(spec, source, ["candidate"], model=spec["settings"]["model_name"])
    if unknown := set(rows["sample_id"]) - asked:
        raise InputError(f"{task_table}: {len(unknown)} questions of {source} are not in it; make the task table anew")
    rows = rows.assign(
        model=spec["model"], status="imported", reasoning=None, reason=None, prompt_tokens=None, completion_tokens=None
    )
    tables.write(rows, output, tables.CANDIDATES, spec)
    answered = rows["sample_id"].nunique()
    level = logging.INFO if answered else logging.WARNING
    log.log(level, "%s answers %d of %d questions of %s", spec["model"], answered, len(asked), spec["task"])


def generate_candidates(
    spec: Mapping[str, Any],
    task_table: str | Path,
    output: str | Path,
    folder: str | Path,
    make_generator: Callable[[], Generator],
    revisions: Mapping[str, str] | None = None,
    shard_rows: int = SHARD_ROWS,
    keep: bool = False,
) -> None:
    """Have a model answer every question of a task, as often as its setting `attempts` says, and write the answers.

    Args:
        spec: `Plan.candidates_spec` of a model that is no imported one.
        folder: where the finished shards lie. An answer is taken from there only if model, revision, settings and prompt are the
            same; one that a server failed to give is asked for again.
        make_generator: loads the model; called only when an answer is missing.
        revisions: of the model, as far as known without loading it.
        shard_rows: answers per shard, the most that a kill can lose.
        keep: leave the answers in the folder, for dear ones: a raised limit, an added row or another table then pays only for what
            is missing. Otherwise they go when the table is written.
    """
    revisions = dict(revisions or {})
    requests, keys = asked(spec, task_table, revisions)
    work = _Work(make_generator)
    lasting = _lasting if spec["settings"]["generator"] == "openai" else _always
    answers = resume.run_resumable(requests, keys, work, folder, shard_rows, "answers", lasting)
    rows = [_row(spec["model"], *pair) for pair in zip(requests, answers, strict=True)]
    frame = pd.DataFrame(rows, columns=tables.CANDIDATES.names)
    tables.write(frame, output, tables.CANDIDATES, spec, {**revisions, **work.revisions})
    if not keep:
        resume.clear(folder)
    log.info("%s, %s: %s", spec["model"], spec["task"], endings(frame))


def fill_store(
    batch: Batch,
    output: str | Path,
    folder: str | Path,
    make_generator: Callable[[], Generator],
    revisions: Mapping[str, str] | None = None,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Have a model answer everything that several tables lack, loading it once; `generate_candidates` then only writes them.

    Args:
        batch: the tables, all of one model. Their questions are made here once more, which is cheap: were the task tables inputs of
            this job, then new questions of one task would make all the others stale.
        output: the note that says what was answered.
        folder, make_generator, revisions, shard_rows: as for `generate_candidates`.
    """
    # It brings the configuration's classes: a third of a second that light jobs need not pay.
    from bert_judge.runtime import batch_manifest

    requests: list[Request] = []
    keys: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for task, part in batch.parts.items():
            table = Path(scratch, f"{task}.parquet")
            build_task(part["questions"], table, batch.inputs.get(f"source {task}"), batch.inputs.get(f"manifest {task}"))
            more = asked(part["answers"], table, revisions or {})
            requests += more.requests
            keys += more.keys
    resume.run_resumable(requests, keys, _Work(make_generator), folder, shard_rows, "answers")
    batch_manifest.write_manifest(batch, output)


class Asked(NamedTuple):
    """What a table of candidates needs: its requests, and for each the content key under which a store keeps the answer."""

    requests: list[Request]
    keys: list[str]


def asked(spec: Mapping[str, Any], task_table: str | Path, revisions: Mapping[str, str]) -> Asked:
    """The requests of a table of candidates; the task, its limit and the number of attempts are no part of their keys."""
    settings = {key: value for key, value in spec["settings"].items() if key != "attempts"}
    origin = tables.canonical({"model": spec["model"], "settings": settings, "revisions": revisions})
    requests = []
    for row in tables.read(task_table, tables.TASK).to_dict("records"):
        choices = None if row["choices"] is None else tuple(row["choices"])
        sample = Sample(row["question"], tuple(row["references"]), row["answer_kind"], choices)
        text = prompt(sample, spec["family"], spec["prompt_style"])
        requests += [Request(row["sample_id"], attempt, text, sample) for attempt in range(spec["settings"].get("attempts", 1))]
    return Asked(requests, [resume.content_key(origin, *_identity(spec, request)) for request in requests])


def _identity(spec: Mapping[str, Any], request: Request) -> tuple[str | int, ...]:
    """What an answer depends on beside the model. A made-up one depends on the question behind the prompt too."""
    own = (request.prompt, request.attempt)
    return (request.sample_id, *own) if spec["settings"]["generator"] == "simulated" else own


class _Work:
    """The work of a shard; loads the model when the first one comes."""

    def __init__(self, make_generator: Callable[[], Generator]) -> None:
        self.make_generator = make_generator
        self.generator: Generator | None = None

    @property
    def revisions(self) -> Mapping[str, str]:
        return self.generator.revisions if self.generator else {}

    def __call__(self, shard: Sequence[Request]) -> list[dict[str, Any]]:
        if self.generator is None:
            self.generator = self.make_generator()
        try:
            return [stored(completion) for completion in self.generator.generate(shard)]
        except sigterm.Stopped as early:
            raise sigterm.Stopped({place: stored(completion) for place, completion in early.results.items()}) from None


def _lasting(answer: Mapping[str, Any]) -> bool:
    """A server's failure may pass: it stands in this table, and the next run asks again."""
    return answer["status"] != "error"


def _always(answer: Mapping[str, Any]) -> bool:
    """What a model here cannot answer, it never will."""
    return True


def with_run_time(settings: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """A spec's settings together with those that say how the work is done and are no part of it.

    Args:
        entry: the model's block in the configuration.
    """
    from pydantic import TypeAdapter

    from bert_judge.config import Model

    block: Any = TypeAdapter(Model).validate_python(entry, by_alias=True, by_name=False)
    return {**settings, **block.model_dump(mode="json", include=set(block.run_time))}


def stored(completion: Completion) -> dict[str, Any]:
    """A completion as values that a shard can hold."""
    return {
        **{name: tables.storable(getattr(completion, name)) for name in ("text", "reasoning", "reason")},
        **{name: getattr(completion, name) for name in ("status", "prompt_tokens", "completion_tokens")},
    }


def endings(frame: pd.DataFrame) -> str:
    """How the answers of a table ended, and for those that failed, the most frequent reasons."""
    words = ", ".join(f"{count} {status}" for status, count in frame["status"].value_counts().items())
    reasons = frame["reason"].value_counts()
    shown = [f"{count} x {reason}" for reason, count in reasons.head(SHOWN_REASONS).items()]
    more = len(reasons) - len(shown)
    return f"{words or 'no answers'}{''.join(f'; {text}' for text in shown)}{f'; and {more} other reasons' if more else ''}"


def _row(model: str, request: Request, answer: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the table."""
    return {
        "sample_id": request.sample_id,
        "attempt": request.attempt,
        "question": request.sample.question,
        "references": list(request.sample.references),
        "model": model,
        "candidate": answer["text"],
        # Answers that a store has kept since before reasons were told.
        "reason": answer.get("reason"),
        **{name: answer[name] for name in ("reasoning", "status", "prompt_tokens", "completion_tokens")},
    }
