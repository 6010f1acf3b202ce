"""The stage that makes a student: chosen answers and a base model in, a folder that is an ordinary model out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.finetuning.launch import launched
from bert_judge.candidates.finetuning.saving import MANIFEST, METRICS, save, write_json
from bert_judge.candidates.finetuning.trainer import tune
from bert_judge.candidates.generators import hf_model
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.config import Tuning
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.students.card import write_card
from bert_judge.students.examples import encode

log = logging.getLogger(__name__)


def train_student(
    spec: Mapping[str, Any],
    filtered: str | Path,
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fit a base model to chosen answers.

    Args:
        spec: of `Plan.student_spec`.
        filtered: table of the answers.
        base: manifest of the prepared base model.
        folder: gets weights, tokenizer, metrics.json, README.md (the model card) and, last, manifest.json, with which the student
            is a prepared model like any other.
        work_folder: keeps the training's checkpoints until the student is whole.
        run_time: settings of `config.Tuning` that change no result.

    Raises:
        InputError: the base model cannot be loaded, or no answer fits into its window.
    """
    folder, name, manifest = Path(folder), spec["student"], load_manifest(base)
    rows = tables.read(filtered, tables.FILTERED)
    if rows.empty:
        raise InputError(f"{filtered}: no answer to learn from; filter other answers")
    settings = Tuning.model_validate({**spec["training"], **(run_time or {})})
    loaded = hf_model.load_model(name, spec["settings"], manifest.path, use_accelerators=not launched())
    encoder = PromptEncoder(name, loaded.tokenizer, spec["settings"])
    longest = min(settings.max_length, loaded.max_length or settings.max_length)
    records = [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]
    examples, left_out = encode(records, encoder, loaded.eos_ids, spec["families"], spec["prompt_style"], longest)
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    model, figures = tune(loaded, examples, settings, progress)
    if model is None:
        # Another process writes what all of them made.
        return
    made = save(name, model, loaded.tokenizer, folder, spec["settings"]["trust_remote_code"], (MANIFEST, METRICS))
    metrics = {"answers": len(examples), "left_out": left_out, "training": figures}
    write_json(folder / METRICS, metrics)
    write_card(folder, spec, manifest, metrics)
    write_json(folder / MANIFEST, made)
    resume.clear(work_folder)
    log.info("%s learnt from %d answers; loss %.4f", name, len(examples), figures["loss"])
