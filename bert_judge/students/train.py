"""The stage that makes a student: chosen answers and a base model in, a folder that is an ordinary model out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import shards, tables
from bert_judge.config import Tuning
from bert_judge.errors import InputError
from bert_judge.generators import hf_model
from bert_judge.generators.chat import PromptEncoder
from bert_judge.prepare import load_manifest, manifest_of
from bert_judge.students.card import write_card
from bert_judge.students.examples import encode
from bert_judge.students.fitting import tune

log = logging.getLogger(__name__)

MANIFEST, METRICS = "manifest.json", "metrics.json"
# One file, whose name is known before there is anything to save.
ONE_FILE = "100TB"


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
    loaded = hf_model.load(name, spec["settings"], manifest.path)
    encoder = PromptEncoder(name, loaded.tokenizer, *(spec["settings"][key] for key in ("system", "thinking", "reasoning_end")))
    longest = min(settings.max_length, loaded.window or settings.max_length)
    records = [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]
    examples, left_out = encode(records, encoder, loaded.ends, spec["families"], spec["prompt_style"], longest)
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / shards.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    model, figures = tune(loaded, examples, settings, progress)
    folder.mkdir(parents=True, exist_ok=True)
    # From here until the new manifest is written, last of all, the folder is no student.
    for earlier in (MANIFEST, METRICS):
        (folder / earlier).unlink(missing_ok=True)
    model.save_pretrained(folder, max_shard_size=ONE_FILE)
    loaded.tokenizer.save_pretrained(folder)
    made = manifest_of(name, folder, spec["settings"]["trust_remote_code"])
    metrics = {"answers": len(examples), "left_out": left_out, "training": figures}
    _write_json(folder / METRICS, metrics)
    write_card(folder, spec, manifest, metrics)
    _write_json(folder / MANIFEST, made)
    shards.clear(work_folder)
    log.info("%s learnt from %d answers; loss %.4f", name, len(examples), figures["loss"])


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with tables.atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
