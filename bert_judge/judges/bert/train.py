"""The stage that makes a trained judge: dataset tables and a backbone in, a folder with everything about the judge out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.config import Input, Training
from bert_judge.datasets.augmentation import augment
from bert_judge.judges.bert.card import CURVES, write_judge_card
from bert_judge.judges.bert.curves import draw_curves
from bert_judge.judges.bert.judge import BERTJudge, CalibrationRows
from bert_judge.judges.bert.judge_folder import JUDGE_FILE, METRICS
from bert_judge.runtime import resume

log = logging.getLogger(__name__)


def train_judge(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    validation_weak: str | Path,
    summary: str | Path,
    backbone: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    micro_batch_size: int | None = None,
) -> None:
    """Train, calibrate and describe a judge.

    Args:
        spec: of `Plan.judge_spec`.
        train, validation, validation_weak: dataset tables; the temperature and the metrics come from the validation part, what
            encoder and trees are worth from its weakly labelled rows too.
        summary: the dataset's summary.json.
        backbone: manifest of the prepared backbone.
        folder: gets weights, tokenizer, metrics.json, README.md (the model card) with its picture and, last, judge.json.
        work_folder: keeps the training's checkpoints until the judge is whole.
        micro_batch_size: see `config.Training`; it changes no result.
    """
    folder, manifest = Path(folder), load_manifest(backbone)
    judge = BERTJudge(manifest.path, input=Input.model_validate(spec["input"]))
    rows, held_out = tables.read(train, tables.DATASET), tables.read(validation, tables.DATASET)
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    training = Training.model_validate({**spec["training"], "micro_batch_size": micro_batch_size})
    figures = judge.fit(*_texts(rows), rows["label"].tolist(), rows["weight"].tolist(), training, spec["features"], progress)
    dataset = json.loads(tables.provenance(train)["spec"])
    made_up = augment(held_out.drop(columns="weight"), dataset["augment"], dataset["seed"])
    weak = tables.read(validation_weak, tables.DATASET)
    metrics, scores = judge.calibrate(
        *(*_texts(held_out), held_out["label"].tolist()),
        weak=CalibrationRows(*_texts(weak), weak["label"].tolist(), weak["weight"].tolist()),
        synthetic=CalibrationRows(*_texts(made_up), made_up["label"].tolist()),
    )
    _warn_of_an_idle_encoder(spec["judge"], metrics)
    log.info("validation: %s", {key: round(value, 4) for key, value in metrics.items()})
    card = judge.checkpoint.metadata
    card.backbone, card.backbone_revision, card.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # From here until the new one is written, last of all, the folder is no judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    counts = json.loads(Path(summary).read_text())
    learnt = {"rows": len(rows), "rows_weakly_labelled": counts["weak_teacher"]}
    _write_json(folder / METRICS, {"validation": metrics, "training": {**learnt, **figures}})
    draw_curves(scores, held_out["label"], judge.threshold, folder / CURVES)
    write_judge_card(folder, spec["judge"], card, metrics, dataset, counts)
    judge.save(folder)
    resume.clear(work_folder)


def _warn_of_an_idle_encoder(judge: str, metrics: Mapping[str, float]) -> None:
    """Trees and calibration hide an encoder that learnt nothing."""
    common = max(metrics["base_rate"], 1 - metrics["base_rate"])
    if metrics["accuracy_encoder"] <= common:
        log.warning(
            "%s: on the %d validation rows the encoder alone is right in %.1f%%, and whoever always says the commoner verdict in "
            "%.1f%%; lower training.learning_rate, raise training.epochs or label more answers",
            *(judge, metrics["n"], 100 * metrics["accuracy_encoder"], 100 * common),
        )


def _texts(rows: pd.DataFrame) -> tuple[list[str], list[list[str]], list[str]]:
    return rows["question"].tolist(), rows["references"].tolist(), rows["candidate"].tolist()


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with tables.atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
