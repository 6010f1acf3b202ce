"""95% intervals of every measure of agreement at once, by one bootstrap over questions.

Drawing questions with replacement is weighting each with how often it was drawn. All measures here are functions of sums over
questions, so a thousand resamples are one matrix product.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bert_judge import tables
from bert_judge.evaluation.statistics import CONFIDENCE, Interval, Verdicts
from bert_judge.runtime.metrics import BINS, bin_index

RESAMPLES = 1000
Sums = NDArray[np.float64]


def measure_intervals(
    verdicts: Verdicts, scores: ArrayLike, right: ArrayLike, clusters: ArrayLike, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """Accuracy, macro-F1, Cohen's kappa, calibration error and AUROC against known verdicts, with percentile intervals.

    Args:
        verdicts: texts out of `tables.VERDICTS`, shape (n,); an invalid one agrees with nothing, as in `statistics`.
        scores: in [0, 1], NaN where there is none, shape (n,); calibration and AUROC are over the rows that have one.
        right: what is known, booleans, shape (n,).
        clusters: the question of each row, shape (n,).
        seed: same seed, same intervals.

    Returns:
        accuracy, macro_f1, kappa, ece, auroc; NaN where a measure is undefined.
    """
    truth, score = np.asarray(right, bool), np.asarray(scores, float)
    code, distinct = pd.factorize(np.asarray(clusters))
    groups = len(distinct)
    drawn = np.random.default_rng(seed).multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(float)
    # The first line is what was observed: every question once.
    weights = np.vstack([np.ones(groups), drawn])
    cells = np.tensordot(weights, _confusion(verdicts, truth, code, groups), axes=1)
    known = ~np.isnan(score)
    measures = {
        "accuracy": (cells[:, 0, 0] + cells[:, 1, 1]) / cells.sum(axis=(1, 2)),
        "macro_f1": _macro_f1(cells),
        "kappa": _kappa(cells),
        "ece": _ece(score[known], truth[known], code[known], weights),
        "auroc": _auroc(score[known], truth[known], code[known], weights),
    }
    return {name: of_lines(values) for name, values in measures.items()}


def of_lines(values: Sums) -> Interval:
    """Percentile interval of a measure, shape (1 + resamples,): line 0 is what was observed; NaN where the measure is undefined."""
    if np.isnan(values).all():
        return Interval(np.nan, np.nan, np.nan)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(values[1:], [tail, 1 - tail])
    return Interval(float(values[0]), float(low), float(high))


def _confusion(verdicts: Verdicts, truth: NDArray[np.bool_], code: NDArray[np.intp], groups: int) -> Sums:
    """Per question the rows of each (verdict, truth): shape (groups, 3, 2), truth in the order right, wrong."""
    said = pd.Categorical(np.asarray(verdicts).tolist(), categories=tables.VERDICTS).codes
    sums = np.zeros((groups, len(tables.VERDICTS), 2))
    np.add.at(sums, (code, said, (~truth).astype(int)), 1)
    return sums


def _macro_f1(cells: Sums) -> Sums:
    f1 = [share(2 * cells[:, i, i], cells[:, i, :].sum(axis=1) + cells[:, :, i].sum(axis=1)) for i in (0, 1)]
    return np.nan_to_num(f1).mean(axis=0)


def _kappa(cells: Sums) -> Sums:
    n = cells.sum(axis=(1, 2))
    observed = (cells[:, 0, 0] + cells[:, 1, 1]) / n
    expected = (cells.sum(axis=2)[:, :2] * cells.sum(axis=1)).sum(axis=1) / n**2
    return share(observed - expected, 1 - expected)


def _ece(scores: Sums, truth: NDArray[np.bool_], code: NDArray[np.intp], weights: Sums) -> Sums:
    """Naeini et al. 2015, with equally wide bins."""
    gaps = np.zeros((weights.shape[1], BINS))
    np.add.at(gaps, (code, bin_index(scores)), scores - truth)
    rows = np.bincount(code, minlength=weights.shape[1])
    return share(np.abs(weights @ gaps).sum(axis=1), weights @ rows)


def _auroc(scores: Sums, truth: NDArray[np.bool_], code: NDArray[np.intp], weights: Sums) -> Sums:
    """Mann and Whitney's U over all pairs of a right and a wrong row; equal scores count half."""
    if not len(scores):
        return np.full(len(weights), np.nan)
    values, place = np.unique(scores, return_inverse=True)
    shape = (weights.shape[1], len(values))
    right, wrong = (
        np.asarray((sparse.csr_array((np.ones(mask.sum()), (code[mask], place[mask])), shape=shape).T @ weights.T).T)
        for mask in (truth, ~truth)
    )
    below = np.cumsum(wrong, axis=1) - wrong
    return share((right * (below + wrong / 2)).sum(axis=1), right.sum(axis=1) * wrong.sum(axis=1))


def share(part: Sums, whole: Sums) -> Sums:
    """Part over whole, any shape; NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) != 0)
