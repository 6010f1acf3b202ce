"""What can be told of an aspect without a look into the model: the commonest class, and the length of the answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bert_judge.judges.probe.training.classifiers import folds

Told = dict[str, np.ndarray]


def told_without_model(
    rows: pd.DataFrame, classes: np.ndarray, groups: np.ndarray, learn: np.ndarray, test: np.ndarray, wanted: int, seed: int
) -> tuple[Told, Told]:
    """Baseline → classes told: for the training rows by the folds that did not learn from them, and for the test rows.

    Args:
        classes, groups: class and question of every row.
        learn, test: numbers of the training and test rows.
        wanted, seed: see `classifiers.folds`; the same folds as the probe's.
    """
    sizes = _sizes(rows)
    out_of_fold: Told = {name: np.zeros(len(learn), int) for name in ("majority", "length")}
    for train, held_out in folds(classes[learn], groups[learn], wanted, seed):
        for name, told in _told(sizes, classes, learn[train], learn[held_out]).items():
            out_of_fold[name][held_out] = told
    return out_of_fold, _told(sizes, classes, learn, test)


def _told(sizes: np.ndarray, classes: np.ndarray, train: np.ndarray, test: np.ndarray) -> Told:
    known, counts = np.unique(classes[train], return_counts=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=2000))
    length = model.fit(sizes[train], classes[train]).predict(sizes[test]) if len(test) else np.zeros(0, int)
    return {"majority": np.full(len(test), known[counts.argmax()]), "length": length}


def _sizes(rows: pd.DataFrame) -> np.ndarray:
    """Characters, words and lines of answer and question, as logarithms; shape (rows, 5)."""
    texts = rows["candidate"], rows["question"]
    columns = [part.map(count) for part in texts for count in (len, lambda text: len(text.split()))]
    return np.log1p(np.stack([*columns, rows["candidate"].str.count("\n")], axis=1).astype(float))
