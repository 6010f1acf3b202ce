"""Train a probe from a dataset and tables of hidden states, predict with it and with two baselines, and compare them."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bert_judge import tables
from bert_judge.judges.model_card import markdown_table, render, write_model_card
from bert_judge.judges.probe import judge
from bert_judge.judges.probe.classifiers import to_classes
from bert_judge.judges.probe.features import FeatureTable
from bert_judge.judges.probe.fit import MAX_CANDIDATE_LAYERS, AspectLabels, FittedAspect, concatenate, fit_aspect, make_folds
from bert_judge.judges.probe.judge import AspectHead, LayerPooling
from bert_judge.judges.registry import JUDGE_FILE
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.bootstrap import Floats, QuestionBootstrap, classification_resamples, percentile_interval

log = logging.getLogger(__name__)
# Selected layers and classifier by aspect, and predictions of the probe and of its baselines.
SELECTION_FILE, PREDICTIONS_FILE = "selection.json", "predictions.parquet"
# The aspect that every teacher labels: its verdict.
CORRECTNESS = "correctness"
# Splits of a predictions table: out-of-fold predictions of training rows, and predictions of the test rows.
CROSS_VALIDATION, TEST = "cross_validation", "test"


class DatasetStates:
    """Hidden states of the rows of a dataset, read by layer from the tables of all its models and tasks. Raises InputError: the
    tables lack an answer."""

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
        # Concatenations read the best layers several times.
        self.load = lru_cache(maxsize=MAX_CANDIDATE_LAYERS)(self._load)
        self.layers: list[LayerPooling] = [(layer, pooling) for layer in range(self._tables[0].layers) for pooling in poolings]

    def _load(self, layer: LayerPooling) -> np.ndarray:
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
        train, validation: dataset tables; the second one is the test split, which is only predicted.
        features: set of hidden states → its tables, in the order of the spec's `tables`.
        folder: receives the classifiers, selection.json, predictions.parquet and, last, judge.json.
    """
    folder = Path(folder)
    rows, num_train = read_rows(train, validation)
    heads: dict[str, AspectHead] = {}
    selection: dict[str, Any] = {}
    predictions: list[pd.DataFrame] = []
    for name, aspect in spec["aspects"].items():
        states = DatasetStates(features[aspect["features"]], rows, spec["tables"], spec["pooling"])
        labels = aspect_labels(name, {key: aspect[key] for key in ("head", "range", "positive_from")}, rows, num_train)
        fitted, out_of_fold = fit_aspect(states, labels, spec)
        test_states = concatenate(states, fitted.layers)[labels.test]
        test = fitted.model.predict(test_states) if len(labels.test) else np.zeros(0, int)
        predictions += _predictions_tables("probe", rows, labels, out_of_fold, test)
        for baseline, classes in _predict_baselines(rows, labels, spec):
            predictions += _predictions_tables(baseline, rows, labels, *classes)
        heads[name] = AspectHead(labels.head, aspect["features"], fitted.layers, fitted.model)
        selection[name] = _describe_selection(labels, fitted)
        log.info("%s: %s on %s", name, fitted.classifier, fitted.layers)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    tables.write_json(folder / SELECTION_FILE, selection)
    tables.write(pd.concat(predictions), folder / PREDICTIONS_FILE, tables.PREDICTIONS, spec, revisions=revisions)
    judge.save_folder(folder, heads, spec, revisions)


def read_rows(train: str | Path, validation: str | Path) -> tuple[pd.DataFrame, int]:
    """Return all rows of a dataset, the training rows first, and the number of training rows."""
    frames = [tables.read(path, tables.DATASET) for path in (train, validation)]
    return pd.concat(frames, ignore_index=True), len(frames[0])


def aspect_labels(aspect: str, head: Mapping[str, Any], rows: pd.DataFrame, num_train: int) -> AspectLabels:
    """Collect the labels of an aspect; the first `num_train` rows are training rows. Raises InputError: a label is out of range."""
    values = aspect_values(aspect, rows)
    labelled = np.flatnonzero(~np.isnan(values))
    classes = np.zeros(len(rows), int)
    classes[labelled] = to_classes(aspect, values[labelled], head)
    # Rows are split and resampled by question.
    questions = rows["question"].map(lambda question: tables.question_key(tables.question_stem(question))).to_numpy()
    return AspectLabels(aspect, head, labelled[labelled < num_train], labelled[labelled >= num_train], classes, questions)


def aspect_values(aspect: str, rows: pd.DataFrame) -> np.ndarray:
    """Return the teacher's value of an aspect for every row; NaN without a label. Raises InputError: no row has a label."""
    values = rows["aspects"].map(lambda labels: (labels or {}).get(aspect, np.nan)).astype(float)
    if aspect == CORRECTNESS and values.isna().all():
        values = rows["label"].astype(float)
    if values.isna().all():
        aspects = sorted({name for labels in rows["aspects"] for name in labels or ()})
        raise InputError(f"aspects.{aspect}: the teacher does not label it; labelled aspects: {', '.join(aspects) or 'none'}")
    return values.to_numpy()


def _predict_baselines(
    rows: pd.DataFrame, labels: AspectLabels, settings: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Predict out of fold, and the test rows, by the majority class and by the lengths of question and answer."""
    texts = rows["candidate"], rows["question"]
    sizes = [text.map(count) for text in texts for count in (len, lambda value: len(value.split()))]
    features = np.log1p(np.stack([*sizes, rows["candidate"].str.count("\n")], axis=1).astype(float))
    train, classes = labels.train, labels.classes
    folds = make_folds(classes[train], labels.questions[train], settings["folds"], settings["seed"])
    for name, model in (
        ("majority", DummyClassifier()),
        ("length", make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=2000))),
    ):
        out_of_fold, test = np.zeros(len(train), int), np.zeros(0, int)
        for fitted_on, held_out in folds:
            model.fit(features[train[fitted_on]], classes[train[fitted_on]])
            out_of_fold[held_out] = model.predict(features[train[held_out]])
        if len(labels.test):
            test = model.fit(features[train], classes[train]).predict(features[labels.test])
        yield name, (out_of_fold, test)


def _predictions_tables(
    predictor: str, rows: pd.DataFrame, labels: AspectLabels, out_of_fold: np.ndarray, test: np.ndarray
) -> list[pd.DataFrame]:
    return [
        rows.iloc[indices][["task", "model", "sample_id", "attempt"]]
        .reset_index(drop=True)
        .assign(
            predictor=predictor,
            split=split,
            aspect=labels.name,
            question=labels.questions[indices],
            truth=labels.classes[indices],
            prediction=predictions,
        )
        for split, indices, predictions in ((CROSS_VALIDATION, labels.train, out_of_fold), (TEST, labels.test, test))
    ]


def _describe_selection(labels: AspectLabels, fitted: FittedAspect) -> dict[str, Any]:
    splits = {"train": labels.train, "test": labels.test}
    counts = {split: np.unique(labels.classes[indices], return_counts=True) for split, indices in splits.items()}
    return {
        "head": labels.head,
        "classes": {split: dict(zip(map(str, classes), sizes.tolist(), strict=True)) for split, (classes, sizes) in counts.items()},
        "classifier": fitted.classifier,
        "settings": fitted.settings,
        "layers": [list(layer) for layer in fitted.layers],
        "selection_f1": fitted.selection_f1,
        "best_layers": [[layer, pooling, round(score, 4)] for (layer, pooling), score in fitted.ranking[:10]],
    }


# --- comparison with the baselines: metrics with intervals, and the model card ---

METRICS = ("accuracy", "macro_f1", "weighted_f1")
# In the order of the model card.
PREDICTORS = ("probe", "majority", "length")
SPLIT_TITLES = {TEST: "test split, never trained on", CROSS_VALIDATION: "cross-validation by question"}


def evaluate_probe(spec: Mapping[str, Any], selection: str | Path, predictions: str | Path, folder: str | Path) -> None:
    """Write metrics.json and README.md into a folder, from the files of `train_probe`. Raises InputError: a file is broken."""
    table = tables.read(predictions, tables.PREDICTIONS)
    try:
        selected = json.loads(Path(selection).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{selection}: not readable: {' '.join(str(error).split())}; delete it and run again") from error
    aspects = {name: {**details, **evaluate_aspect(table[table["aspect"] == name])} for name, details in selected.items()}
    tables.write_json(Path(folder) / "metrics.json", {"aspects": aspects})
    scores = [(name, *cells) for name, aspect in aspects.items() for cells in _score_cells(aspect)]
    header = ("aspect", "rows", "predictor", "macro F1", "weighted F1", "n", "difference of the probe in macro F1")
    body = render(
        "probe/card.md.jinja",
        spec=spec,
        aspects=aspects,
        revisions=tables.provenance(predictions)["revisions"],
        metrics_table=markdown_table(header, scores),
    )
    write_model_card(folder, title=spec["judge"], introduction=body, tags=["probe"], spec=spec)


def evaluate_aspect(table: pd.DataFrame) -> dict[str, Any]:
    """Return split → predictor → metrics, and baseline → difference of the probe to it on the test split."""
    key = ["task", "model", "sample_id", "attempt"]
    results: dict[str, Any] = {CROSS_VALIDATION: {}, TEST: {}, "differences": {}}
    for (split, predictor), rows in table.groupby(["split", "predictor"], sort=False):
        probe_rows = table[(table["split"] == split) & (table["predictor"] == "probe")]
        merged = probe_rows.merge(rows[[*key, "prediction"]], on=key, suffixes=("", "_other"), validate="one_to_one")
        truth, questions = merged["truth"].to_numpy(), merged["question"].to_numpy()
        baseline_prediction = merged["prediction_other"].to_numpy()
        results[str(split)][predictor] = class_metrics(truth, baseline_prediction, questions)
        if split == TEST and predictor != "probe":
            probe_prediction = merged["prediction"].to_numpy()
            results["differences"][predictor] = metric_differences(truth, probe_prediction, baseline_prediction, questions)
    return results


def class_metrics(truth: np.ndarray, predictions: np.ndarray, questions: np.ndarray) -> dict[str, Any]:
    """Return n, questions, and accuracy, macro_f1 and weighted_f1 as `[value, low, high]` of a bootstrap over questions."""
    resampled = classification_resamples(QuestionBootstrap.over(questions), truth, predictions)
    counts = {"n": len(truth), "questions": len(np.unique(questions))}
    return {**counts, **{name: _interval(resampled[name]) for name in METRICS}}


def metric_differences(
    truth: np.ndarray, predictions: np.ndarray, other_predictions: np.ndarray, questions: np.ndarray
) -> dict[str, list[float]]:
    """Compute the metrics of `predictions` minus those of `other_predictions`, paired in each resample."""
    bootstrap = QuestionBootstrap.over(questions)
    first, second = (classification_resamples(bootstrap, truth, classes) for classes in (predictions, other_predictions))
    return {name: _interval(first[name] - second[name]) for name in METRICS}


def _interval(resampled: Floats) -> list[float]:
    interval = percentile_interval(resampled)
    return [interval.value, interval.low, interval.high]


def _score_cells(aspect: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for split, title in SPLIT_TITLES.items():
        for predictor, scores in sorted(aspect[split].items(), key=lambda item: PREDICTORS.index(item[0])):
            intervals = [format_interval(scores[name]) for name in ("macro_f1", "weighted_f1")]
            difference = aspect["differences"].get(predictor) if split == TEST else None
            yield title, predictor, *intervals, scores["n"], format_interval(difference["macro_f1"], "+") if difference else ""


def format_interval(interval: list[float], sign: str = "") -> str:
    value, low, high = (100 * number for number in interval)
    return f"{value:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
