"""The classes that a teacher gives to the rows of a dataset, and the table of what is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.probe import heads
from bert_judge.runtime.errors import InputError

# The aspect that any teacher gives: his verdict.
CORRECTNESS = "correctness"
# Parts of what is told: training rows, by the fold that did not learn from them, and the rows that no training sees.
CROSS_VALIDATION, TEST = "cross_validation", "test"


@dataclass(frozen=True)
class Known:
    """What is known of an aspect.

    Attributes:
        learn, test: numbers of the training and test rows that have a label.
        classes: class of every row; of those without a label it means nothing.
        groups: question of every row.
    """

    learn: np.ndarray
    test: np.ndarray
    classes: np.ndarray
    groups: np.ndarray


def both_parts(train: str | Path, validation: str | Path) -> tuple[pd.DataFrame, int]:
    """The rows of a dataset, its training rows first, and how many these are."""
    parts = [tables.read(path, tables.DATASET) for path in (train, validation)]
    return pd.concat(parts, ignore_index=True), len(parts[0])


def known(name: str, head: Mapping[str, Any], rows: pd.DataFrame, cut: int) -> Known:
    """What the teacher says of an aspect.

    Args:
        head: see `heads`.
        rows: training rows and, from `cut` on, test rows.

    Raises:
        InputError: he gives no such aspect, or a value out of range.
    """
    values = values_of(name, rows)
    labelled = np.flatnonzero(~np.isnan(values))
    classes = np.zeros(len(rows), int)
    classes[labelled] = heads.classes_of(name, values[labelled], head)
    return Known(labelled[labelled < cut], labelled[labelled >= cut], classes, questions(rows))


def questions(rows: pd.DataFrame) -> np.ndarray:
    """The key of the question of every row; answers to one question are never parted."""
    return rows["question"].map(lambda question: tables.question_key(tables.question_stem(question))).to_numpy()


def values_of(name: str, rows: pd.DataFrame) -> np.ndarray:
    """The teacher's values of an aspect, shape (rows,), not a number where he gave none.

    Raises:
        InputError: he gave none at all.
    """
    values = rows["aspects"].map(lambda found: (found or {}).get(name, np.nan)).astype(float)
    if name == CORRECTNESS and values.isna().all():
        values = rows["label"].astype(float)
    if values.isna().all():
        aspects = sorted({aspect for found in rows["aspects"] for aspect in found or ()})
        raise InputError(f"aspects.{name}: the teacher gives no such aspect; there are: {', '.join(aspects) or 'none'}")
    return values.to_numpy()


def told_table(
    predictor: str, split: str, aspect: str, rows: pd.DataFrame, of: np.ndarray, found: Known, told: np.ndarray
) -> pd.DataFrame:
    """Return the predictions for some rows as a part of a table `tables.PREDICTIONS`.

    Args:
        of: numbers of the rows.
        told: the class of each of these.
    """
    chosen = rows.iloc[of][["task", "model", "sample_id", "attempt"]].reset_index(drop=True)
    more = {"question": found.groups[of], "truth": found.classes[of], "prediction": told}
    return chosen.assign(predictor=predictor, split=split, aspect=aspect, **more)
