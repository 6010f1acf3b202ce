"""Aspect labels of the rows of a dataset, and tables of predicted classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.probe.classifiers import to_classes
from bert_judge.runtime.errors import InputError

# The aspect that every teacher labels: its verdict.
CORRECTNESS = "correctness"
# Splits of a predictions table: out-of-fold predictions of training rows, and predictions of the test rows.
CROSS_VALIDATION, TEST = "cross_validation", "test"


@dataclass(frozen=True)
class AspectLabels:
    """Labels of an aspect.

    Attributes:
        train, test: indices of the labelled training and test rows.
        classes: class of every row, arbitrary for rows without a label.
        questions: key of the question of every row.
    """

    train: np.ndarray
    test: np.ndarray
    classes: np.ndarray
    questions: np.ndarray


def read_rows(train: str | Path, validation: str | Path) -> tuple[pd.DataFrame, int]:
    """Return all rows of a dataset, the training rows first, and the number of training rows."""
    frames = [tables.read(path, tables.DATASET) for path in (train, validation)]
    return pd.concat(frames, ignore_index=True), len(frames[0])


def aspect_labels(aspect: str, head: Mapping[str, Any], rows: pd.DataFrame, num_train: int) -> AspectLabels:
    """Collect the labels of an aspect.

    Args:
        head: see `classifiers`.
        rows: `num_train` training rows, followed by test rows.

    Raises:
        InputError: the teacher does not label this aspect, or a label is out of range.
    """
    values = aspect_values(aspect, rows)
    labelled = np.flatnonzero(~np.isnan(values))
    classes = np.zeros(len(rows), int)
    classes[labelled] = to_classes(aspect, values[labelled], head)
    return AspectLabels(labelled[labelled < num_train], labelled[labelled >= num_train], classes, question_keys(rows))


def question_keys(rows: pd.DataFrame) -> np.ndarray:
    """Return the key of the question of every row, by which rows are split and resampled."""
    return rows["question"].map(lambda question: tables.question_key(tables.question_stem(question))).to_numpy()


def aspect_values(aspect: str, rows: pd.DataFrame) -> np.ndarray:
    """Return the teacher's value of an aspect for every row, shape (rows,); NaN without a label.

    Raises:
        InputError: no row has a label.
    """
    values = rows["aspects"].map(lambda labels: (labels or {}).get(aspect, np.nan)).astype(float)
    if aspect == CORRECTNESS and values.isna().all():
        values = rows["label"].astype(float)
    if values.isna().all():
        aspects = sorted({name for labels in rows["aspects"] for name in labels or ()})
        raise InputError(f"aspects.{aspect}: the teacher does not label it; labelled aspects: {', '.join(aspects) or 'none'}")
    return values.to_numpy()


def predictions_table(
    predictor: str,
    split: str,
    aspect: str,
    rows: pd.DataFrame,
    indices: np.ndarray,
    labels: AspectLabels,
    predictions: np.ndarray,
) -> pd.DataFrame:
    """Build a table of the schema `tables.PREDICTIONS`.

    Args:
        indices: of the predicted rows.
        predictions: class of each of these.
    """
    answers = rows.iloc[indices][["task", "model", "sample_id", "attempt"]].reset_index(drop=True)
    return answers.assign(
        predictor=predictor,
        split=split,
        aspect=aspect,
        question=labels.questions[indices],
        truth=labels.classes[indices],
        prediction=predictions,
    )
