"""The stage that trains a student: filtered answers and a base model in, a folder that is an ordinary model out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables
from bert_judge.assets.prepare import Manifest, load_manifest
from bert_judge.candidates.finetuning import (
    MANIFEST,
    METRICS,
    Example,
    encode_dialogue,
    encode_examples,
    fine_tune,
)
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.config import Tuning
from bert_judge.judges.model_card import training_table, write_model_card
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.prompts import instruction

log = logging.getLogger(__name__)


def train_student(
    spec: Mapping[str, Any],
    filtered: str | Path,
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fine-tune a base model on filtered answers.

    Args:
        spec: of `Plan.student_spec`.
        base: manifest of the prepared base model.
        folder: receives weights, tokenizer, metrics.json, README.md (the model card) and, last, manifest.json, which makes the
            student a prepared model like any other.
        work_folder: holds the training checkpoints until the student is complete.
        run_time: settings of `config.Tuning` that change no result.

    Raises:
        InputError: the base model cannot be loaded, or no answer fits into its context.
    """
    folder, name, manifest = Path(folder), spec["student"], load_manifest(base)
    rows = tables.read(filtered, tables.FILTERED)
    if rows.empty:
        raise InputError(f"{filtered}: no answer to train on; filter other answers")
    records = [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]
    result = fine_tune(
        name,
        spec,
        Tuning.model_validate({**spec["training"], **(run_time or {})}),
        manifest,
        lambda encoder, eos_ids, max_length: encode(records, encoder, eos_ids, spec, max_length),
        data_fingerprint=tables.fingerprint(rows),
        folder=folder,
        work_folder=work_folder,
        completion_files=(MANIFEST, METRICS),
    )
    metrics = {"answers": result.examples, "left_out": result.left_out, "training": result.metrics}
    tables.write_json(folder / METRICS, metrics)
    write_card(folder, spec, manifest, metrics)
    tables.write_json(folder / MANIFEST, result.manifest)
    resume.clear(work_folder)
    log.info("%s was trained on %d answers; loss %.4f", name, result.examples, result.metrics["loss"])


def encode(
    rows: Sequence[Mapping[str, Any]], encoder: PromptEncoder, eos_ids: frozenset[int], spec: Mapping[str, Any], max_length: int
) -> tuple[list[Example], int]:
    """Encode filtered answers; return the examples and the number of rows that are too long or cannot be encoded."""
    prompts = (row["question"] + instruction(spec["families"][row["task"]], spec["prompt_style"]) for row in rows)
    pairs = zip(prompts, (row["candidate"] for row in rows), strict=True)
    return encode_examples(partial(encode_dialogue, encoder, eos_ids), pairs, max_length, "filter other answers")


def write_card(folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, Any]) -> None:
    answer_filter = spec["filter"]
    models, tasks = (", ".join(sorted(set(names))) for names in zip(*answer_filter["tables"], strict=True))
    data = {
        "base model": f"`{base.repository}`, revision `{base.revision}`",
        "answers": f"{metrics['answers']}, of {models} to {tasks}; {metrics['left_out']} left out as too long",
        "filter": f"`{answer_filter['filter']}`: {describe_filter(answer_filter)}",
        "prompts": f"style `{spec['prompt_style']}`",
        "made by": f"bert-judge {__version__}",
    }
    write_model_card(
        folder,
        title=spec["student"],
        introduction=(
            f"A language model fine-tuned on answers to training questions ({describe_filter(answer_filter)}). It is meant for the "
            "comparison of answer filters only."
        ),
        sections={"Training": training_table(spec["training"], metrics["training"], data)},
        base_model=base.repository,
        pipeline_tag="text-generation",
    )


def describe_filter(answer_filter: Mapping[str, Any]) -> str:
    if answer_filter["judge"] == "all":
        return "all of them"
    share = f"{answer_filter['keep']:g}%"
    if answer_filter["judge"] == "random":
        return f"{share} of them, drawn at random"
    return f"the {share} that {answer_filter['judge']} scores best"
