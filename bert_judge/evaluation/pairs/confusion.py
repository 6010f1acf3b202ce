"""Precision, recall, F1 and kappa of verdicts on pairs, each with the 95% interval of a bootstrap over questions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.intervals import of_lines, share
from bert_judge.evaluation.pairs.bootstrap import Draws, Floats
from bert_judge.evaluation.statistics import UNKNOWN, Interval

MEASURES = ("macro_precision", "macro_recall", "macro_f1", "kappa")


def measured(said: pd.Categorical, label: pd.Categorical, draws: Draws) -> dict[str, Interval]:
    """The measures by name. An inconsistent or invalid verdict misses the class of its label.

    The means are over the classes that the labels have, whatever the judge says: so judges are compared on the same classes.

    Args:
        said: out of `tables.PAIR_VERDICTS`, shape (n,).
        label: out of `tables.PREFERRED`, none missing, shape (n,).
        draws: over the questions of these rows.
    """
    if not len(label):
        return dict.fromkeys(MEASURES, UNKNOWN)
    cells = draws.totals(_one_hot(said, label))
    classes = np.flatnonzero(cells[0].sum(axis=0))
    right, called, there = (
        np.stack([lines[:, at] for at in classes], axis=1)
        for lines in (np.diagonal(cells, axis1=1, axis2=2), cells.sum(axis=2), cells.sum(axis=1))
    )
    precision, recall = share(right, called), share(right, there)
    f1 = share(2 * right, called + there)
    return {
        "macro_precision": of_lines(_mean(precision)),
        "macro_recall": of_lines(_mean(recall)),
        "macro_f1": of_lines(_mean(f1)),
        "kappa": of_lines(_kappa(cells)),
    }


def categories(verdicts: pd.Series) -> pd.Categorical:
    """Verdicts with their fixed codes."""
    return pd.Categorical(verdicts, categories=tables.PAIR_VERDICTS)


def _one_hot(said: pd.Categorical, label: pd.Categorical) -> NDArray[np.float64]:
    """Which cell of the table verdict × label each row is in: shape (n, verdicts, classes)."""
    found = np.zeros((len(label), len(tables.PAIR_VERDICTS), len(tables.PREFERRED)))
    found[np.arange(len(label)), said.codes, label.codes] = 1
    return found


def _mean(lines: Floats) -> Floats:
    """Over the classes; one that is never said, or not drawn, has 0."""
    return np.nan_to_num(lines).mean(axis=1)


def _kappa(cells: Floats) -> Floats:
    n = cells.sum(axis=(1, 2))
    classes = cells.shape[2]
    observed = np.trace(cells, axis1=1, axis2=2) / n
    expected = (cells.sum(axis=2)[:, :classes] * cells.sum(axis=1)).sum(axis=1) / n**2
    return share(observed - expected, 1 - expected)
