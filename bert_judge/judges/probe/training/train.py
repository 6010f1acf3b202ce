"""The stage that trains a probe from a dataset and tables of hidden states."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.probe import folder as probe_folder
from bert_judge.judges.probe.features import FeatureTable
from bert_judge.judges.probe.judge import LayerPooling
from bert_judge.judges.probe.training.baselines import predict_without_model
from bert_judge.judges.probe.training.fit import AspectRows, FittedAspect, fit_aspect
from bert_judge.judges.probe.training.labels import CROSS_VALIDATION, TEST, aspect_labels, predictions_table, read_rows
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
# Selected layers and classifier by aspect, and predictions of the probe and of the baselines without a model.
SELECTION_FILE, PREDICTIONS_FILE = "selection.json", "predictions.parquet"


class DatasetStates:
    """Hidden states of the rows of a dataset, read one layer at a time from the tables of all its models and tasks.

    Args:
        paths: tables of hidden states.
        rows: rows of the dataset, with model, task, sample_id and attempt.
        pairs: (model, task) of each path.
        poolings: poolings to select from.

    Raises:
        InputError: the tables lack an answer.
    """

    def __init__(
        self, paths: Sequence[str | Path], rows: pd.DataFrame, pairs: Sequence[Sequence[str]], poolings: Sequence[str]
    ) -> None:
        self._tables = [FeatureTable(path) for path in paths]
        self._num_rows = len(rows)
        locations = {
            (*pair, *key): (table_number, row)
            for table_number, (pair, table) in enumerate(zip(pairs, self._tables, strict=True))
            for row, key in enumerate(table.keys)
        }
        keys = zip(rows["model"], rows["task"], rows["sample_id"], rows["attempt"], strict=True)
        try:
            location = np.array([locations[key] for key in keys]).reshape(-1, 2)
        except KeyError as error:
            raise InputError(f"{paths[0]}: neither it nor the other tables contain {error.args[0]}; delete them") from error
        self._rows = [(np.flatnonzero(location[:, 0] == n), location[location[:, 0] == n, 1]) for n in range(len(self._tables))]
        self.layers: list[LayerPooling] = [(layer, pooling) for layer in range(self._tables[0].layers) for pooling in poolings]

    def load(self, layer: LayerPooling) -> np.ndarray:
        """float32, shape (rows, width)."""
        states: np.ndarray | None = None
        for table, (dataset_rows, table_rows) in zip(self._tables, self._rows, strict=True):
            if len(dataset_rows):
                layer_states = table.states(*layer)[table_rows]
                states = np.zeros((self._num_rows, layer_states.shape[1]), np.float32) if states is None else states
                states[dataset_rows] = layer_states
        assert states is not None
        return states


def train_probe(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    features: Mapping[str, Sequence[str | Path]],
    revisions: Mapping[str, str],
    folder: str | Path,
) -> None:
    """Train a probe, and predict the rows that it was not trained on.

    Args:
        spec: `Plan.probe_spec`.
        train: dataset table, used for training and selection.
        validation: dataset table, the test split, which is only predicted.
        features: set of hidden states → its tables, in the order of the spec's `tables`.
        revisions: backbone → revision.
        folder: where to write the classifiers, selection.json, predictions.parquet and, last, probe.json.

    Raises:
        InputError: an aspect has no labels, or too few.
    """
    folder = Path(folder)
    rows, num_train = read_rows(train, validation)
    heads: dict[str, probe_folder.AspectHead] = {}
    selection: dict[str, Any] = {}
    predictions: list[pd.DataFrame] = []
    for name, aspect in spec["aspects"].items():
        states = DatasetStates(features[aspect["features"]], rows, spec["tables"], spec["pooling"])
        head = {key: aspect[key] for key in ("head", "range", "positive_from")}
        fitted, selection[name], aspect_predictions = _train_aspect(name, head, states, rows, num_train, spec)
        heads[name] = probe_folder.AspectHead(head, aspect["features"], fitted.layers, fitted.model)
        predictions += aspect_predictions
        log.info("%s: %s on %s", name, fitted.classifier, fitted.layers)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / probe_folder.PROBE_FILE).unlink(missing_ok=True)
    with tables.atomic(folder / SELECTION_FILE) as temporary:
        temporary.write_text(json.dumps(selection, indent=2, ensure_ascii=False) + "\n", "utf-8")
    tables.write(pd.concat(predictions), folder / PREDICTIONS_FILE, tables.PREDICTIONS, spec, revisions)
    probe_folder.save(folder, heads, spec, revisions)


def _train_aspect(
    name: str, head: Mapping[str, Any], states: DatasetStates, rows: pd.DataFrame, num_train: int, spec: Mapping[str, Any]
) -> tuple[FittedAspect, dict[str, Any], list[pd.DataFrame]]:
    """Fit an aspect; return its classifier, a description of the selection, and all predictions."""
    labels = aspect_labels(name, head, rows, num_train)
    fitted, out_of_fold = fit_aspect(states, AspectRows(name, head, labels.train, labels.classes, labels.questions), spec)
    test_states = np.concatenate([states.load(layer)[labels.test] for layer in fitted.layers], axis=1)
    cross_validation, test = predict_without_model(rows, labels, spec["folds"], spec["seed"])
    cross_validation["probe"] = out_of_fold
    test["probe"] = fitted.model.predict(test_states) if len(labels.test) else np.zeros(0, int)
    predictions = [
        predictions_table(predictor, split, name, rows, indices, labels, classes)
        for split, indices, by_predictor in (
            (CROSS_VALIDATION, labels.train, cross_validation),
            (TEST, labels.test, test),
        )
        for predictor, classes in by_predictor.items()
    ]
    selection = {
        "head": head,
        "classes": {"train": _counts(labels.classes[labels.train]), "test": _counts(labels.classes[labels.test])},
        "classifier": fitted.classifier,
        "settings": fitted.settings,
        "layers": [list(layer) for layer in fitted.layers],
        "selection_f1": fitted.selection_f1,
        "best_layers": [[layer, pooling, round(score, 4)] for (layer, pooling), score in fitted.ranking[:10]],
    }
    return fitted, selection, predictions


def _counts(classes: np.ndarray) -> dict[str, int]:
    return {str(name): int(count) for name, count in zip(*np.unique(classes, return_counts=True), strict=True)}
