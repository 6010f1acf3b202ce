"""The stage that fine-tunes a language model as a pairwise judge: labelled pairs and a base model in, a judge folder out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import __version__
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.finetuning.trainer import MANIFEST, METRICS, fine_tune, write_json
from bert_judge.config import HFModel, Tuning
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.loading import from_metadata
from bert_judge.judges.pairwise.model_card import write_tuned_card
from bert_judge.judges.pairwise.training_data import augment, encode, measure, read_split
from bert_judge.runtime import resume

log = logging.getLogger(__name__)


def tune_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fine-tune a base model on the scores and, if present, reasons of labelled pairs, and measure it on held-out questions.

    Args:
        spec: of `Plan.tuned_judge_spec`.
        pairs: tables of pairs; unlabelled ones are left out.
        base: manifest of the prepared base model.
        folder: receives weights, tokenizer, manifest.json, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: holds the training checkpoints until the judge is complete.
        run_time: settings of `config.Tuning` that change no result.

    Raises:
        InputError: a table or the base model cannot be read, there are no labelled pairs on one side of the split, or none fits
            into the model's context.
    """
    folder, manifest, name = Path(folder), load_manifest(base), spec["judge"]
    tuning = Tuning.model_validate({**spec["tuning"], **(run_time or {})})
    data = read_split(spec, pairs, tuning.seed)
    rows = augment(data.train, PairAugment.model_validate(spec["augment"]), tuning.seed)
    with_reasons = sum(bool(row.reason) for row in rows)
    log.info("%d training pairs, %d of them augmented, %d with reasons", len(rows), len(rows) - len(data.train), with_reasons)
    result = fine_tune(
        name,
        spec,
        tuning,
        manifest,
        lambda encoder, eos_ids, max_length: encode(rows, encoder, eos_ids, spec, max_length),
        data_fingerprint=data.fingerprint,
        folder=folder,
        work_folder=work_folder,
        completion_files=(JUDGE_FILE, MANIFEST, METRICS),
    )
    if result is None:
        return
    write_json(folder / MANIFEST, result.manifest)
    base_model = {"generator": "hf", "model": manifest.repository, "revision": manifest.revision, **spec["settings"]}
    metadata = {
        "pairwise": {"writes": "scores"},
        "settings": {
            **{key: spec[key] for key in ("seed", "max_answer_chars")},
            "model": HFModel.model_validate(base_model).model_dump(mode="json"),
        },
        "backbone": manifest.repository,
        "backbone_revision": manifest.revision,
        "spec": dict(spec),
        "program": f"bert-judge {__version__}",
    }
    metrics = measure(from_metadata(metadata, folder, name, result.manifest["revision"]), data.held_out)
    log.info("held-out questions: %s", {key: round(value, 4) for key, value in metrics.items()})
    training_metrics = {"pairs": result.examples, "left_out": result.left_out, "reasons": with_reasons, **result.metrics}
    write_json(folder / METRICS, {"validation": metrics, "training": training_metrics})
    write_tuned_card(folder, spec, manifest, metrics, training_metrics)
    write_json(folder / JUDGE_FILE, metadata)
    resume.clear(work_folder)
