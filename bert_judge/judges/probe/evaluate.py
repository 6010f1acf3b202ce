"""The stage that compares a probe with its baselines: metrics with intervals, and the model card."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.model_card import markdown_table, render, write_model_card
from bert_judge.judges.probe.train import CROSS_VALIDATION, TEST
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.bootstrap import Floats, QuestionBootstrap, classification_resamples, percentile_interval

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
