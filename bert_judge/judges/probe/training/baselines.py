"""Baselines of a probe: majority class and answer length, and the stage of those that load the backbone."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.judges.probe.config import LEARNING, BaselineTraining
from bert_judge.judges.probe.training.fit import make_folds
from bert_judge.judges.probe.training.labels import TEST, AspectLabels, aspect_labels, predictions_table, read_rows
from bert_judge.runtime import resume

log = logging.getLogger(__name__)
# Baseline → predicted classes.
Predictions = dict[str, np.ndarray]


def predict_without_model(rows: pd.DataFrame, labels: AspectLabels, num_folds: int, seed: int) -> tuple[Predictions, Predictions]:
    """Predict an aspect by the majority class and by the length of the answer.

    Returns:
        Out-of-fold predictions of the training rows, in the folds of the probe, and predictions of the test rows.
    """
    sizes = _sizes(rows)
    train_classes = labels.classes[labels.train]
    out_of_fold: Predictions = {name: np.zeros(len(labels.train), int) for name in ("majority", "length")}
    for train, held_out in make_folds(train_classes, labels.questions[labels.train], num_folds, seed):
        predictions = _fit_predict(sizes, labels.classes, labels.train[train], labels.train[held_out])
        for name, classes in predictions.items():
            out_of_fold[name][held_out] = classes
    return out_of_fold, _fit_predict(sizes, labels.classes, labels.train, labels.test)


def _fit_predict(sizes: np.ndarray, classes: np.ndarray, train: np.ndarray, test: np.ndarray) -> Predictions:
    models = {
        "majority": DummyClassifier(),
        "length": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=2000)),
    }
    if not len(test):
        return {name: np.zeros(0, int) for name in models}
    return {name: model.fit(sizes[train], classes[train]).predict(sizes[test]) for name, model in models.items()}


def _sizes(rows: pd.DataFrame) -> np.ndarray:
    """Return log1p of characters, words and lines of candidate and question, shape (rows, 5)."""
    texts = rows["candidate"], rows["question"]
    columns = [text.map(count) for text in texts for count in (len, lambda value: len(value.split()))]
    return np.log1p(np.stack([*columns, rows["candidate"].str.count("\n")], axis=1).astype(float))


def predict_test_split(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    backbone: str | Path,
    output: str | Path,
    note: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Write the predictions of a baseline that loads the backbone.

    Args:
        spec: `Plan.baseline_spec`.
        train, validation: dataset tables; the second one is the test split.
        backbone: its manifest.
        output: table of the schema `tables.PREDICTIONS` to write; empty if the baseline does not apply to the backbone.
        note: JSON file to write: how the baseline was trained, or why it is `absent`.
        work_folder: keeps the progress until both are written.
        run_time: settings of `BaselineTraining` that do not change the result.

    Raises:
        InputError: the labels or the backbone cannot be used.
    """
    rows, num_train = read_rows(train, validation)
    labels = {name: aspect_labels(name, entry, rows, num_train) for name, entry in spec["aspects"].items()}
    manifest, baseline = load_manifest(backbone), spec["baseline"]
    # Other rows or another spec must not resume this run.
    work = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))
    if baseline in LEARNING:
        from bert_judge.judges.probe.training import fine_tuning

        settings = BaselineTraining.model_validate({**spec["training"], **(run_time or {})})
        predictions, details = fine_tuning.predict(manifest.path, spec, rows, labels, settings, work)
    else:
        from bert_judge.judges.probe.training import prompted

        if reason := prompted.reason_not_applicable(manifest.path):
            predictions, details = {}, {"absent": reason}
        else:
            predictions, details = prompted.predict(manifest, spec, rows, labels, work)
    frames = [
        predictions_table(baseline, TEST, name, rows, labels[name].test, labels[name], classes)
        for name, classes in predictions.items()
    ]
    table = pd.concat(frames) if frames else tables.empty(tables.PREDICTIONS)
    tables.write(table, output, tables.PREDICTIONS, spec, {manifest.repository: manifest.revision})
    with tables.atomic(note) as temporary:
        temporary.write_text(json.dumps(details, indent=2, ensure_ascii=False) + "\n", "utf-8")
    resume.clear(work_folder)
    log.info("%s: %s", baseline, details)
