"""Stage that trains a judge from dataset tables and a backbone, and writes its model card."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import Manifest, folder_revision, load_manifest
from bert_judge.config import Input, Training
from bert_judge.encoder.backend import has_openvino
from bert_judge.encoder.checkpoint import JudgeMetadata
from bert_judge.encoder.judge_folder import JUDGE_FILE, METRICS, hash_rows, read_seen_rows, write_seen_rows
from bert_judge.encoder.weights import WEIGHTS_FILE
from bert_judge.judges.bert.judge import BERTJudge, CalibrationRows
from bert_judge.judges.model_card import markdown_table, metrics_table, render, write_encoder_card
from bert_judge.judges.registry import TrainingContext
from bert_judge.perturbations.augmentation import SYNTHETIC, augment

log = logging.getLogger(__name__)
# Tag of the model card.
TAG = "answer-equivalence"


def train_judge(context: TrainingContext) -> None:
    """Train and calibrate a judge, or only recalibrate one (`recalibrate` of the spec); write it with its model card.

    Temperature and metrics are fitted on the validation rows, the stacker on `validation_weak` and augmented rows too.
    """
    spec, inputs, folder = context.spec, context.inputs, context.folder
    manifest = load_manifest(inputs["backbone"])
    train_rows, validation_rows = (tables.read(inputs[name], tables.DATASET) for name in ("train", "validation"))
    if spec["recalibrate"]:
        rows = pd.concat([train_rows, validation_rows])
        recalibrate_judge(spec, rows[~rows["model"].str.startswith(SYNTHETIC)], inputs["backbone"], folder)
        return
    judge = BERTJudge(manifest.path, input=Input.model_validate(spec["input"]))
    checkpoints = context.checkpoints(manifest.revision, tables.fingerprint(train_rows))
    labels, weights = train_rows["label"].tolist(), train_rows["weight"].tolist()
    statistics = judge.fit(*_texts(train_rows), labels, weights, context.settings(Training), spec["features"], checkpoints)
    dataset = json.loads(tables.provenance(inputs["train"])["spec"])
    weak_rows = tables.read(inputs["validation_weak"], tables.DATASET)
    synthetic_rows = augment(validation_rows.drop(columns="weight"), dataset["augment"], dataset["seed"])
    metrics, _ = judge.calibrate(
        *_texts(validation_rows),
        validation_rows["label"].tolist(),
        weak=CalibrationRows(*_texts(weak_rows), weak_rows["label"].tolist(), weak_rows["weight"].tolist()),
        synthetic=CalibrationRows(*_texts(synthetic_rows), synthetic_rows["label"].tolist()),
    )
    _warn_if_encoder_is_useless(spec["judge"], metrics)
    log.info("validation: %s", {key: round(value, 4) for key, value in metrics.items()})
    counts = json.loads(Path(inputs["summary"]).read_text())
    judge.checkpoint.update(simulated=bool(counts["simulated"]))
    metadata = _describe_origin(judge, spec, manifest, folder)
    row_counts = {"rows": len(train_rows), "rows_weakly_labelled": counts["weak_teacher"]}
    tables.write_json(folder / METRICS, {"validation": metrics, "training": {**row_counts, **statistics}})
    training_rows = pd.concat([train_rows, validation_rows, weak_rows])
    _record_seen_rows(folder, training_rows, manifest.path)
    write_encoder_card(folder, metadata, _describe_training(metadata, metrics, dataset, counts), TAG)
    judge.save(folder)
    if has_openvino():
        # An optional package.
        from bert_judge.encoder.openvino import write_input_scales

        write_input_scales(folder, *_texts(train_rows))


def recalibrate_judge(spec: Mapping[str, Any], rows: pd.DataFrame, backbone: str | Path, folder: Path) -> dict[str, float]:
    """Refit slope and offset of a judge to labelled rows, write the new judge with its card, and return its metrics.

    Args:
        rows: question, references, candidate and label, in [0, 1].
        backbone: manifest of the judge to start from.
        folder: gets weights, tokenizer, metrics.json, README.md (the model card) and, last, judge.json.

    Raises:
        InputError: the backbone is not a trained judge.
    """
    manifest = load_manifest(backbone)
    judge = BERTJudge(manifest.path)
    version, revision = judge.checkpoint.metadata.version, folder_revision(manifest.path)
    metrics = judge.recalibrate(*_texts(rows), rows["label"].tolist())
    metadata = _describe_origin(judge, spec, manifest, folder)
    tables.write_json(folder / METRICS, {"validation": metrics, "training": {"rows": len(rows)}})
    _record_seen_rows(folder, rows, manifest.path)
    start = " ".join(filter(None, (manifest.repository, version, f"({revision})")))
    body = render("bert/recalibrated.md.jinja", start=start, metrics=metrics, judge=metadata)
    write_encoder_card(folder, metadata, body, TAG)
    # As compact as the judge that it comes from.
    judge.save(folder, int8=(manifest.path / WEIGHTS_FILE).is_file())
    return metrics


def _describe_origin(judge: BERTJudge, spec: Mapping[str, Any], manifest: Manifest, folder: Path) -> JudgeMetadata:
    """Record what a judge was made from, and prepare its folder, which is not a judge until judge.json is written."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    judge.checkpoint.update(backbone=manifest.repository, backbone_revision=manifest.revision, spec=dict(spec))
    return judge.checkpoint.metadata


def _record_seen_rows(folder: Path, rows: pd.DataFrame, start: Path) -> None:
    """Record the rows that a judge has seen, with those of the judge that it started from."""
    earlier = read_seen_rows(start)
    hashes = hash_rows(rows["question"], rows["candidate"])
    write_seen_rows(folder, hashes if earlier is None else np.concatenate([hashes, earlier]))


def _warn_if_encoder_is_useless(judge: str, metrics: Mapping[str, float]) -> None:
    """Warn if the encoder is no better than the majority class: trees and calibration would hide it."""
    majority = max(metrics["base_rate"], 1 - metrics["base_rate"])
    if metrics["accuracy_encoder"] <= majority:
        log.warning(
            "%s: on %d validation rows the accuracy of the encoder is %.1f%%, of the majority class %.1f%%; "
            "lower training.learning_rate, raise training.epochs or label more answers",
            *(judge, metrics["n"], 100 * metrics["accuracy_encoder"], 100 * majority),
        )


def _texts(rows: pd.DataFrame) -> tuple[list[str], list[list[str]], list[str]]:
    return rows["question"].tolist(), rows["references"].tolist(), rows["candidate"].tolist()


def _describe_training(
    metadata: JudgeMetadata, metrics: Mapping[str, float], dataset: Mapping[str, Any], summary: Mapping[str, Any]
) -> str:
    return render(
        "bert/card.md.jinja",
        judge=metadata,
        metrics=metrics,
        metrics_table=metrics_table(metrics, exclude=("n", "base_rate")),
        dataset=dataset,
        summary=summary,
        tasks_table=markdown_table(("task", "rows"), summary["train"]["per_task"].items()),
    )
