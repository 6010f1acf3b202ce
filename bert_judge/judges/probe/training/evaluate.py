"""The stage that compares a probe with its baselines: metrics with intervals, and the model card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import __version__, tables
from bert_judge.judges.model_card import code_block, markdown_table, write_model_card
from bert_judge.judges.probe.training.labels import CROSS_VALIDATION, TEST
from bert_judge.runtime.bootstrap import Floats, QuestionBootstrap, classification_resamples, percentile_interval
from bert_judge.runtime.errors import InputError

METRICS = ("accuracy", "macro_f1", "weighted_f1")
# In the order of the model card.
PREDICTORS = ("probe", "majority", "length", "fine_tuned", "lora", "prompted")
SPLIT_TITLES = {TEST: "test split, never trained on", CROSS_VALIDATION: "cross-validation by question"}
USAGE = """\
from bert_judge.integrations.samples import evaluate_samples

evaluate_samples([{"question": "…", "prediction": "…"}], judge="path/to/this/folder", top_percent=50)"""


def evaluate_probe(
    spec: Mapping[str, Any],
    selection: str | Path,
    predictions: Sequence[str | Path],
    notes: Sequence[str | Path],
    folder: str | Path,
) -> None:
    """Write metrics.json and README.md.

    Args:
        spec: `Plan.measures_spec`.
        selection: selection.json of the probe.
        predictions: prediction tables, the probe's first.
        notes: JSON files of the baselines that load the backbone: how each was trained, or why it is absent.
        folder: where to write both files.

    Raises:
        InputError: a file is broken, or a baseline predicts other rows than the probe.
    """
    frames = [tables.read(path, tables.PREDICTIONS) for path in predictions]
    table = pd.concat(frames, ignore_index=True)
    table = table[table["predictor"].isin(["probe", *spec["baselines"]])]
    aspects = {
        name: {**selected, **_evaluate_aspect(table[table["aspect"] == name], f"{predictions[0]}: {name}")}
        for name, selected in _read_json(selection).items()
    }
    metrics = {"aspects": aspects, "baselines": {Path(path).stem: _read_json(path) for path in notes}}
    with tables.atomic(Path(folder) / "metrics.json") as temporary:
        temporary.write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", "utf-8")
    _write_card(folder, spec, metrics, tables.provenance(predictions[0])["revisions"])


def _evaluate_aspect(table: pd.DataFrame, source: str) -> dict[str, Any]:
    """Return split → predictor → metrics, and baseline → difference of the probe to it on the test split."""
    key = ["task", "model", "sample_id", "attempt"]
    results: dict[str, Any] = {CROSS_VALIDATION: {}, TEST: {}, "differences": {}}
    for (split, predictor), rows in table.groupby(["split", "predictor"], sort=False):
        probe_rows = table[(table["split"] == split) & (table["predictor"] == "probe")]
        merged = probe_rows.merge(rows[[*key, "prediction"]], on=key, suffixes=("", "_other"), validate="one_to_one")
        if not len(probe_rows) == len(merged) == len(rows):
            raise InputError(f"{source}: {predictor} predicts other rows than the probe; delete its table and run again")
        truth, questions = merged["truth"].to_numpy(), merged["question"].to_numpy()
        baseline_prediction = merged["prediction_other"].to_numpy()
        results[str(split)][predictor] = class_metrics(truth, baseline_prediction, questions)
        if split == TEST and predictor != "probe":
            results["differences"][predictor] = metric_differences(
                truth, merged["prediction"].to_numpy(), baseline_prediction, questions
            )
    return results


def class_metrics(truth: np.ndarray, predictions: np.ndarray, questions: np.ndarray) -> dict[str, Any]:
    """Compute metrics of predicted classes with intervals of a bootstrap over questions.

    Args:
        truth, predictions: classes, shape (n,).
        questions: question of each row, shape (n,).

    Returns:
        n, questions, and accuracy, macro_f1 and weighted_f1 as `[value, low, high]`.
    """
    resampled = classification_resamples(QuestionBootstrap.over(questions), truth, predictions)
    return {
        "n": len(truth),
        "questions": len(np.unique(questions)),
        **{name: _interval(resampled[name]) for name in METRICS},
    }


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


def _read_json(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable: {' '.join(str(error).split())}; delete it and run again") from error


def _write_card(folder: str | Path, spec: Mapping[str, Any], metrics: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    backbones = ", ".join(f"`{name}` at {revision}" for name, revision in revisions.items())
    aspects = metrics["aspects"]
    heads = [(name, *_describe_head(aspect)) for name, aspect in aspects.items()]
    scores = [(name, *cells) for name, aspect in aspects.items() for cells in _score_cells(aspect)]
    sentences = [sentence for name, aspect in aspects.items() for sentence in describe_differences(name, aspect["differences"])]
    sentences += [describe_baseline(name, note) for name, note in metrics["baselines"].items()]
    score_header = ("aspect", "rows", "predictor", "macro F1", "weighted F1", "n", "difference of the probe in macro F1")
    explanation = (
        "With 95% intervals of a bootstrap over questions; differences are paired. In the cross-validation every fold selects "
        "layers, classifier and calibration from its own training rows."
    )
    write_model_card(
        folder,
        title=spec["judge"],
        introduction=f"Probe of bert-judge {__version__}: classifiers on the hidden states of a frozen model ({backbones}). "
        f"It sees question and answer, no reference. Trained on the dataset `{spec['dataset']}`.",
        sections={
            "Aspects": markdown_table(("aspect", "head", "layers and poolings", "classifier"), heads),
            "Metrics": "\n\n".join([explanation, markdown_table(score_header, scores), "\n".join(f"- {s}" for s in sentences)]),
            "Usage": code_block(USAGE),
        },
        tags=["probe"],
        spec=spec,
    )


def describe_differences(aspect: str, differences: Mapping[str, Any]) -> list[str]:
    """Summarize the differences on the test split: one sentence per outcome that occurs."""
    outcomes: dict[str, list[str]] = {"better than": [], "worse than": [], "not significantly different from": []}
    for predictor in PREDICTORS:
        if predictor in differences:
            _, low, high = differences[predictor]["macro_f1"]
            outcome = "better than" if low > 0 else "worse than" if high < 0 else "not significantly different from"
            outcomes[outcome].append(predictor)
    return [
        f"{aspect}: the probe is {outcome} {', '.join(predictors)} in macro F1."
        for outcome, predictors in outcomes.items()
        if predictors
    ]


def describe_baseline(name: str, note: Mapping[str, Any]) -> str:
    """Describe how a baseline that loads the backbone was trained, in a sentence."""
    if note.get("absent"):
        return f"{name} is absent: {note['absent']}."
    if "rows" not in note:
        return f"{name}: the backbone is prompted for each aspect, and its most probable grade counts."
    single_class = [aspect for aspect, classes in note["predicted_classes"].items() if len(classes) == 1]
    warning = f" It predicts a single class for {', '.join(single_class)}." if single_class else ""
    return (
        f"{name}: {note['rows']} rows, {note['weights']:,} trained weights; the best of {note['num_evals']} checkpoints is step "
        f"{note['best_step']} of {note['steps']}, on {note['held_out_rows']} held-out rows "
        f"(macro F1 {100 * note['held_out_f1']:.1f}).{warning}"
    )


def _describe_head(aspect: Mapping[str, Any]) -> tuple[str, str, str]:
    head = aspect["head"]
    layers = ", ".join(f"{layer} {pooling}" for layer, pooling in aspect["layers"])
    return f"{head['head']}, {head['range'][0]} to {head['range'][1]}", layers, aspect["classifier"]


def _score_cells(aspect: Mapping[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            title,
            predictor,
            _format_interval(scores["macro_f1"]),
            _format_interval(scores["weighted_f1"]),
            scores["n"],
            _format_interval(aspect["differences"][predictor]["macro_f1"], "+")
            if split == TEST and predictor in aspect["differences"]
            else "",
        )
        for split, title in SPLIT_TITLES.items()
        for predictor, scores in sorted(aspect[split].items(), key=lambda item: PREDICTORS.index(item[0]))
    ]


def _format_interval(interval: list[float], sign: str = "") -> str:
    value, low, high = (100 * number for number in interval)
    return f"{value:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
