"""Numbers that say how well scores reproduce labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, roc_auc_score

from bert_judge.judges.bert.calibration import expected_calibration_error


def classification(labels: ArrayLike, scores: ArrayLike, threshold: float = 0.5) -> dict[str, float]:
    """Agreement of scores with labels.

    Args:
        labels: 0/1 or soft labels, shape (n,); from 0.5 on they count as right.
        scores: in [0, 1], shape (n,).
        threshold: lowest score that counts as correct.

    Returns:
        n, share_right, accuracy, macro_f1, kappa (Cohen's), ece (10 bins), auroc. What is undefined (kappa or AUROC
        of a single class) is left out.
    """
    y, p = np.asarray(labels, float), np.asarray(scores, float)
    truth, verdict = y >= 0.5, p >= threshold
    metrics = {
        "n": float(len(y)),
        "share_right": float(truth.mean()),
        "accuracy": float(accuracy_score(truth, verdict)),
        "macro_f1": float(f1_score(truth, verdict, average="macro", zero_division=0)),
        "ece": expected_calibration_error(p, y),
    }
    if len(np.unique(truth)) == 2:
        metrics["kappa"] = float(cohen_kappa_score(truth, verdict))
        metrics["auroc"] = float(roc_auc_score(truth, p))
    return metrics
