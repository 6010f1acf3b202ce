"""Reliability diagram and threshold curve of a judge's validation scores, as one PNG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from bert_judge import tables
from bert_judge.runtime.metrics import THRESHOLDS, reliability_bins, threshold_curve

BLUE, GREY = "#3d5a80", "#8d99a6"


def draw_curves(scores: ArrayLike, labels: ArrayLike, threshold: float, path: str | Path) -> None:
    """Write a reliability diagram and a threshold curve as one PNG.

    Args:
        scores: in [0, 1], shape (n,).
        labels: in [0, 1], shape (n,); positive from 0.5 on.
        threshold: of the judge, marked in the curve.
        path: of the PNG.
    """
    p, y = np.asarray(scores, float), np.asarray(labels, float)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    reliability_axes, threshold_axes = figure.subplots(1, 2)
    _reliability(reliability_axes, p, y)
    _thresholds(threshold_axes, p, y >= 0.5, threshold)
    for axes in (reliability_axes, threshold_axes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
    with tables.atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _reliability(axes: Axes, p: np.ndarray, y: np.ndarray) -> None:
    """Plot positive rate over mean score per bin; the size of a point is the bin's number of rows."""
    rows, mean_score, positive_rate = reliability_bins(y, p)
    filled = rows > 0
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axes.plot(mean_score[filled], positive_rate[filled], color=BLUE, linewidth=1)
    axes.scatter(mean_score[filled], positive_rate[filled], s=15 + 250 * rows[filled] / rows.sum(), color=BLUE, zorder=3)
    axes.set_xlabel("score")
    axes.set_ylabel("share the teacher labels correct")
    axes.set_title("Reliability", loc="left", fontsize=11)


def _thresholds(axes: Axes, p: np.ndarray, positive: np.ndarray, threshold: float) -> None:
    curve = threshold_curve(positive, p)
    axes.plot(THRESHOLDS, curve["agreement"], color=BLUE, label="agreement")
    axes.plot(THRESHOLDS, curve["macro_f1"], color=BLUE, linestyle=":", label="macro-F1")
    axes.plot(THRESHOLDS, curve["predicted_positive_rate"], color=GREY, label="predicted positive rate")
    axes.axhline(positive.mean(), color=GREY, linewidth=1, linestyle="--", label="base rate")
    axes.axvline(threshold, color="black", linewidth=0.8)
    axes.set_xlabel("threshold")
    axes.set_ylabel("share")
    axes.set_title("Threshold", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=9, loc="lower center", ncols=2)
