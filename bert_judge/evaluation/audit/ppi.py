"""Estimates of accuracy from a judge's verdicts on all answers and human labels on a random sample of them.

The sample is drawn with equal probability within each stratum, independently of the judge, so both estimators are unbiased for
any judge; a good judge makes their intervals narrow.

* `prediction_powered`: PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) for a mean: the judge's mean over all answers,
  plus the mean of (label - judge) over the labelled ones. The judge has a weight in [0, 1] that minimises the variance
  (`tune_weight`); at 0 only the labels count.
* `rogan_gladen`: the share of answers called correct, corrected for the judge's sensitivity and false positive rate on the labelled
  answers (Rogan and Gladen 1978, American Journal of Epidemiology 107:71).

**Invalid verdicts.** The estimates cover all answers, and annotators label an answer with an invalid verdict like any other.
For `prediction_powered` its prediction is the mean of the others of its model (`impute_scores`); for `rogan_gladen` it was not
called correct, which lowers the sensitivity. The labels correct both.

**Intervals** (95%) take the question as the sampling unit: the variance is the cluster-robust one of the estimate's influence
values, which covers the draw of the questions and of the labels. With few labels a good judge shows no error at all, and a Wald
interval would be far too narrow; so the interval, not the estimate, is computed with a few pseudo-labels of every kind, as Agresti
and Coull 1998 do for a proportion, Agresti and Min 2005 for a paired difference, and Lang and Reiczigel 2014 for Rogan-Gladen.
`benchmarks/coverage.py` measures the coverage.

Shapes: every array has one entry per answer, labelled or not. `truth` is 1 for correct, 0 for incorrect, NaN for not labelled.
`clusters` and `strata` contain a hashable value per answer: its question, and the group within which labels were drawn
(`sampling.assign_strata`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bert_judge.runtime.bootstrap import CONFIDENCE, UNKNOWN, Floats, Interval

# Pseudo-labels that an interval is computed with: for the labels alone (Agresti and Coull's), and for the difference to a judge of
# weight 1. Chosen for coverage in `benchmarks/coverage.py`.
PSEUDO_LABELS_ALONE, PSEUDO_LABELS_JUDGED = 4.0, 0.5
# The same for the hits and misses, each, among the correct answers, and among the incorrect ones.
PSEUDO_CALLS = 0.25
# A stratum with fewer labels has no variance.
MIN_LABELS = 2


def impute_scores(scores: ArrayLike, groups: ArrayLike) -> Floats:
    """Replace missing scores (invalid verdicts) by the mean of the group, 0.5 in a group without any.

    Args:
        scores: in [0, 1], shape (N,).
        groups: model of each answer, shape (N,).
    """
    score = pd.Series(np.asarray(scores, float))
    means = score.groupby(pd.factorize(np.asarray(groups))[0]).transform("mean")
    return score.fillna(means).fillna(0.5).to_numpy()


@dataclass(frozen=True)
class _Sample:
    """A stratified sample of labelled answers.

    Attributes:
        labelled: which answers are labelled, shape (N,).
        stratum: index of each answer's stratum, shape (N,).
        sizes, labels: answers and labelled answers of each stratum, shape (strata,).
        question: index of each answer's cluster, shape (N,).
    """

    labelled: NDArray[np.bool_]
    stratum: NDArray[np.intp]
    sizes: Floats
    labels: Floats
    question: NDArray[np.intp]

    @classmethod
    def build(cls, truth: Floats, clusters: ArrayLike, strata: ArrayLike) -> _Sample | None:
        """Return None if a stratum has too few labels, or there is no answer."""
        labelled = ~np.isnan(truth)
        stratum, distinct = pd.factorize(np.asarray(strata))
        sizes = np.bincount(stratum, minlength=len(distinct)).astype(float)
        labels = np.bincount(stratum[labelled], minlength=len(distinct)).astype(float)
        if not len(truth) or labels.min() < MIN_LABELS:
            return None
        return cls(labelled, stratum, sizes, labels, pd.factorize(np.asarray(clusters))[0])

    @property
    def num_labels(self) -> int:
        return int(self.labels.sum())

    def means(self, values: Floats) -> Floats:
        """Average over the labelled answers of each stratum, shape (N,) → (strata,)."""
        return np.bincount(self.stratum[self.labelled], values[self.labelled], len(self.sizes)) / self.labels

    def variance(self, all_values: Floats, labelled_values: Floats, labels: Floats | None = None) -> float:
        """Return the cluster-robust variance of mean(all_values) + stratified mean of labelled_values over the labelled answers.

        Args:
            all_values: known for all answers, shape (N,).
            labelled_values: shape (N,); only the entries of the labelled answers count.
            labels: number of labels to divide by, instead of the actual one, shape (strata,).
        """
        mean = self.means(labelled_values)
        # Bessel's correction of the variance within a stratum.
        correction = np.sqrt(self.labels / (self.labels - 1))
        weight = correction * self.sizes / (self.labels if labels is None else labels)
        influence = all_values + mean[self.stratum]
        influence = influence - influence.mean()
        influence += np.where(self.labelled, weight[self.stratum] * (labelled_values - mean[self.stratum]), 0.0)
        sums = np.bincount(self.question, influence)
        return float((sums**2).sum()) / len(influence) ** 2 * len(sums) / max(len(sums) - 1, 1)

    def interval(self, value: float, centre: float, variance: float) -> Interval:
        """Return the interval around `centre`, within [0, 1] and extended to the estimate.

        The quantile is Student's t; the degrees of freedom are the labelled questions less the strata.
        """
        degrees_of_freedom = max(len(np.unique(self.question[self.labelled])) - len(self.sizes), 1)
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, degrees_of_freedom)) * variance**0.5
        value = min(max(value, 0.0), 1.0)
        return Interval(value, min(max(centre - half, 0.0), value), max(min(centre + half, 1.0), value))


def prediction_powered(
    predictions: ArrayLike, truth: ArrayLike, clusters: ArrayLike, strata: ArrayLike, weight: float | None = None
) -> Interval:
    """Estimate the accuracy over all answers by PPI++; unknown if a stratum has fewer than two labels.

    Args:
        predictions: from `impute_scores`.
        truth, clusters, strata: see above.
        weight: of the judge, in [0, 1]; 0 for the labels alone, `tune_weight` by default.
    """
    y, f = np.asarray(truth, float), np.asarray(predictions, float)
    sample = _Sample.build(y, clusters, strata)
    if sample is None:
        return UNKNOWN
    judge_weight = tune_weight(f, y, strata) if weight is None else weight
    residuals = np.where(sample.labelled, y, 0.0) - judge_weight * f
    mean = sample.means(residuals)
    value = float((judge_weight * f + mean[sample.stratum]).mean())
    # Pseudo-labels, as many of each of correct and incorrect × judged correct and incorrect, in proportion over the strata.
    pseudo_labels = PSEUDO_LABELS_ALONE + (PSEUDO_LABELS_JUDGED - PSEUDO_LABELS_ALONE) * judge_weight
    extra = pseudo_labels * sample.labels / sample.num_labels
    kinds = np.array([0.0, 1.0, -judge_weight, 1.0 - judge_weight])
    labels = sample.labels + extra
    centre = (sample.labels * mean + extra * kinds.mean()) / labels
    added = extra / 4 * ((kinds[:, None] - centre) ** 2).sum(axis=0) * (sample.sizes / len(y) / labels) ** 2
    variance = sample.variance(judge_weight * f, residuals, labels) + float(added.sum())
    return sample.interval(value, float((judge_weight * f + centre[sample.stratum]).mean()), variance)


def tune_weight(predictions: ArrayLike, truth: ArrayLike, strata: ArrayLike) -> float:
    """Return the weight of the judge: the slope of label on prediction within strata, in [0, 1]; 0 where it is undefined.

    With N answers of which n are labelled, this is λ of PPI++ (its section 6) times N / (N - n), since here the predictions on
    the labelled answers do not count for the mean over all. The estimate is the same.
    """
    y, f = np.asarray(truth, float), np.asarray(predictions, float)
    sample = _Sample.build(y, np.arange(len(y)), strata)
    if sample is None:
        return 0.0
    labelled, stratum = sample.labelled, sample.stratum[sample.labelled]
    label, prediction = y[labelled] - sample.means(y)[stratum], f[labelled] - sample.means(f)[stratum]
    variance = float((prediction**2).sum())
    return float(np.clip((prediction * label).sum() / variance, 0, 1)) if variance else 0.0


def rogan_gladen(called_correct: ArrayLike, truth: ArrayLike, clusters: ArrayLike, strata: ArrayLike) -> Interval:
    """Estimate the accuracy over all answers by Rogan and Gladen.

    Unknown if a stratum has fewer than two labels, if no or every labelled answer is correct, or if the judge calls correct
    answers correct no more often than incorrect ones.

    Args:
        called_correct: whether the judge's verdict is correct; an invalid one is not.
        truth, clusters, strata: see above.
    """
    y, c = np.asarray(truth, float), np.asarray(called_correct, float)
    sample = _Sample.build(y, clusters, strata)
    if sample is None:
        return UNKNOWN
    weight = np.where(sample.labelled, (sample.sizes / sample.labels)[sample.stratum], 0.0) / len(y)
    correct, incorrect = weight * (y == 1), weight * (y == 0)
    if not correct.any() or not incorrect.any():
        return UNKNOWN
    estimate = _invert(c.mean(), np.average(c, weights=correct), np.average(c, weights=incorrect))
    # Pseudo-labels: as many hits as misses among the correct answers, and among the incorrect ones.
    pseudo = PSEUDO_CALLS / sample.num_labels
    sensitivity, false_positive_rate = ((rows @ c + pseudo) / (rows.sum() + 2 * pseudo) for rows in (correct, incorrect))
    value, gap = _invert(c.mean(), sensitivity, false_positive_rate), sensitivity - false_positive_rate
    if estimate is None or value is None:
        return UNKNOWN
    share = min(max(value, 0.0), 1.0)
    on_correct, on_incorrect = share / (correct.sum() + 2 * pseudo), (1 - share) / (incorrect.sum() + 2 * pseudo)
    errors = np.where(y == 1, on_correct * (c - sensitivity), on_incorrect * (c - false_positive_rate))
    added = on_correct**2 * (sensitivity**2 + (1 - sensitivity) ** 2)
    added += on_incorrect**2 * (false_positive_rate**2 + (1 - false_positive_rate) ** 2)
    return sample.interval(estimate, value, (sample.variance(c, -errors) + added * pseudo / sample.num_labels) / gap**2)


def _invert(called_correct: float, sensitivity: float, false_positive_rate: float) -> float | None:
    """Return the share of correct answers given the share called correct; None if the judge is not better than chance."""
    gap = sensitivity - false_positive_rate
    return None if gap <= 0 else float((called_correct - false_positive_rate) / gap)
