"""The stage that trains an encoder as a pairwise judge: tables of labelled pairs and a backbone in, a judge folder out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.config import Training
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.pairwise.model_card import write_encoder_card
from bert_judge.judges.pairwise.training_data import augment, measure, read_split
from bert_judge.runtime import resume

log = logging.getLogger(__name__)


def train_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    backbone: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    micro_batch_size: int | None = None,
) -> None:
    """Train a judge, calibrate its ties on held-out questions, and measure it there.

    Args:
        spec: of `Plan.pair_judge_spec`.
        pairs: tables of pairs; unlabelled ones are left out.
        backbone: manifest of the prepared backbone.
        folder: receives weights, tokenizer, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: holds the training checkpoints until the judge is complete.
        micro_batch_size: see `config.Training`; it changes no result.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on one side of the split.
    """
    folder, manifest, seed = Path(folder), load_manifest(backbone), spec["training"]["seed"]
    data = read_split(spec, pairs, seed)
    rows = augment(data.train, PairAugment.model_validate(spec["augment"]), seed)
    log.info("%d training pairs, %d of them augmented; %d held out", len(rows), len(rows) - len(data.train), len(data.held_out))
    judge = PairEncoderJudge(manifest.path, spec["compare"], spec["max_length"])
    training = Training.model_validate({**spec["training"], "micro_batch_size": micro_batch_size})
    # Checkpoints of other rows or another spec must not be resumed.
    checkpoints = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, data.fingerprint)
    training_metrics = judge.fit([row.pair for row in rows], [row.label for row in rows], training, checkpoints)
    judge.calibrate([row.pair for row in data.held_out], [row.label for row in data.held_out])
    metrics = measure(judge, data.held_out)
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in metrics.items()})
    metadata = judge.checkpoint.metadata
    metadata.backbone, metadata.backbone_revision, metadata.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # Without judge.json, which is written last, the folder does not count as a judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    with tables.atomic(folder / "metrics.json") as temporary:
        temporary.write_text(json.dumps({"validation": metrics, "training": training_metrics}, indent=2) + "\n", encoding="utf-8")
    write_encoder_card(folder, spec["judge"], metadata, metrics, len(data.train))
    judge.save(folder)
    resume.clear(work_folder)
