"""Corrected accuracies: of each model and of all together, by judge and method."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.audit import ppi
from bert_judge.evaluation.audit.labels import labels_from_gold, match_labels, read_labels
from bert_judge.evaluation.audit.sampling import assign_strata, draw_sample
from bert_judge.evaluation.score_tables import MODEL, TASK, load_verdicts
from bert_judge.evaluation.standings import estimate_accuracy

LABEL = "(label)"
log = logging.getLogger(__name__)


def build_corrected(spec: Mapping[str, Any], scores: Sequence[Path], sheet: Path | None, output: Path) -> None:
    """Write the table of corrected accuracies.

    Args:
        spec: `Plan.corrected_spec`.
        scores: the score tables, in any order.
        sheet: the annotators' sheet; None to use the verdicts of the judge `labels_from` on the sampled answers.
        output: a table in the schema `tables.CORRECTED_ACCURACY`.
    """
    gold = spec["labels_from"]
    verdicts = load_verdicts(scores, [*spec["judges"], *([gold] if gold else [])])
    if sheet is not None:
        labels = match_labels(verdicts, scores, read_labels(sheet), sheet)
    else:
        labels = labels_from_gold(verdicts, draw_sample(verdicts, spec["judge"], spec["size"], spec["seed"]), gold)
    tables.write(corrected_table(verdicts, labels, spec), output, tables.CORRECTED_ACCURACY, spec, tables.merge_revisions(scores))
    log.info("%s: %d labels on %d answers", output, int((labels >= 0).sum()), len(verdicts))


def corrected_table(verdicts: pd.DataFrame, labels: NDArray[np.float64], spec: Mapping[str, Any]) -> pd.DataFrame:
    """Estimate accuracies per group, judge and method, in the schema `tables.CORRECTED_ACCURACY`.

    The group of all models leaves out models with too few labels, whose answers are not represented by any.

    Args:
        verdicts: from `score_tables.load_verdicts`.
        labels: per row 1, 0, NaN (cannot tell) or `labels.UNLABELLED`.
        spec: `judge`, whose scores the sample was sorted by, and `judges`.
    """
    frame = verdicts.assign(**{LABEL: labels})
    represented = (frame[LABEL] >= 0).groupby(frame[MODEL]).transform("sum") >= ppi.MIN_LABELS
    by_model = [("model", str(name), answers) for name, answers in frame.groupby(MODEL, sort=True)]
    rows = [
        {"level": level, "model": model, "judge": judge, **row}
        for level, model, answers in [("all", "all", frame[represented]), *by_model]
        for judge in spec["judges"]
        for row in _estimate(answers, judge, spec["judge"])
    ]
    return pd.DataFrame(rows, columns=tables.CORRECTED_ACCURACY.names)


def _estimate(answers: pd.DataFrame, judge: str, sampling_judge: str) -> Iterator[dict[str, Any]]:
    labels = answers[LABEL].to_numpy(float)
    truth = np.where(labels >= 0, labels, np.nan)
    uncorrected = estimate_accuracy(answers, judge)
    counts = {
        "answers": len(answers),
        "questions": uncorrected["questions"],
        "labels": int((labels >= 0).sum()),
        "unclear": int(np.isnan(labels).sum()),
        "invalid": uncorrected["invalid"],
    }
    yield {**counts, "method": "judge", **{name: uncorrected[name] for name in ("accuracy", "low", "high")}}
    model = answers[MODEL].astype(str).to_numpy()
    question = (answers[TASK].astype(str) + " " + answers["sample_id"].astype(str)).to_numpy()
    strata = assign_strata(model, answers[sampling_judge], ~np.isnan(truth))
    predictions = ppi.impute_scores(answers[judge], model)
    called_correct = (answers[f"{judge}_verdict"] == "correct").to_numpy(float)
    estimates = {
        "human_labels": ppi.prediction_powered(predictions, truth, question, model, weight=0.0),
        "ppi": ppi.prediction_powered(predictions, truth, question, strata),
        "rogan_gladen": ppi.rogan_gladen(called_correct, truth, question, strata),
    }
    for method, interval in estimates.items():
        yield {**counts, "method": method, **interval.columns("accuracy")}
