"""The stage that makes a trained judge of two answers: tables of labelled pairs and a backbone in, a folder out."""

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
from bert_judge.judges.pairwise import training_rows
from bert_judge.judges.pairwise.augmentation import augmented
from bert_judge.judges.pairwise.card import write_pair_card
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
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
    """Train a judge, learn on held-out questions when two answers tie, and measure it there.

    Args:
        spec: of `Plan.pair_judge_spec`.
        pairs: tables of pairs; those without a label are left out.
        backbone: manifest of the prepared backbone.
        folder: gets weights, tokenizer, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: keeps the training's checkpoints until the judge is whole.
        micro_batch_size: see `config.Training`; it changes no result.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on either side of the split.
    """
    folder, manifest, seed = Path(folder), load_manifest(backbone), spec["training"]["seed"]
    lesson = training_rows.read(spec, pairs, seed)
    held_out = lesson.held_out
    learnt = augmented(lesson.train, PairAugment.model_validate(spec["augment"]), seed)
    log.info("%d pairs to train on, %d of them made up; %d held out", len(learnt), len(learnt) - len(lesson.train), len(held_out))
    judge = PairEncoderJudge(manifest.path, spec["compare"], spec["max_length"])
    training = Training.model_validate({**spec["training"], "micro_batch_size": micro_batch_size})
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, lesson.fingerprint)
    figures = judge.fit([row.pair for row in learnt], [row.label for row in learnt], training, progress)
    judge.calibrate([row.pair for row in held_out], [row.label for row in held_out])
    metrics = training_rows.measure(judge, held_out)
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in metrics.items()})
    card = judge.checkpoint.metadata
    card.backbone, card.backbone_revision, card.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # From here until the new one is written, last of all, the folder is no judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    with tables.atomic(folder / "metrics.json") as temporary:
        temporary.write_text(json.dumps({"validation": metrics, "training": figures}, indent=2) + "\n", encoding="utf-8")
    write_pair_card(folder, spec["judge"], card, metrics, len(lesson.train))
    judge.save(folder)
    resume.clear(work_folder)
