"""Accuracy as people would give it, from a judge's verdicts on all answers and people's labels on a few of them.

The few are drawn at random with equal probability within each stratum, whatever the judge said. So what they show of the judge's
errors holds for all answers, and both estimates here are right whether the judge is good or bad; a good judge makes them narrow.

* `prediction_powered`: PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) for a mean: the judge's mean over all answers,
  plus the mean of (label - judge) over the labelled ones. The judge counts with a weight in [0, 1] that is tuned so that the
  variance is least (`best_power`); at 0 the labels alone remain.
* `rogan_gladen`: the share that the judge calls correct, with its sensitivity and its false positive rate on the labelled answers
  taken out (Rogan and Gladen 1978, American Journal of Epidemiology 107:71).

**Invalid verdicts.** The estimates are over all answers, and an answer is right or wrong whatever became of the judge: people
label it like any other. So invalid verdicts are neither left out nor wrong. For `prediction_powered` such an answer carries no
information and gets the mean of the others in its stratum (`predictions`); for `rogan_gladen` it was not called correct, which
lowers the sensitivity by as much as there are right answers among the invalid ones. The labels correct both.

**Intervals** (95%) take the question as the unit that was drawn, as `statistics` does: the variance is the cluster-robust one of
the estimate's influence values, which holds the draw of the questions and that of the labels. With few labels a good judge shows
no error at all, and a plain interval would then be far too narrow; so the interval, not the estimate, is worked out with a few
more labels of every kind, as Agresti and Coull 1998 do for a share, Agresti and Min 2005 for a paired difference and Lang and
Reiczigel 2014 for Rogan-Gladen. `benchmarks/coverage.py` measures how often the intervals hold.

Shapes: every array has one entry per answer, labelled or not. `truth` is 1 for right, 0 for wrong, NaN for not labelled.
`clusters` and `strata` hold a hashable value per answer: its question, and the group within which the labelled answers were drawn
(`audit.draw.strata`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bert_judge.evaluation.statistics import CONFIDENCE, UNKNOWN, Interval

Floats = NDArray[np.float64]
# Labels that an interval is worked out with on top of those there are: for the labels alone (Agresti and Coull's), and for the
# difference to a judge that counts fully. Set where `benchmarks/coverage.py` found the intervals to hold.
EXTRA_ALONE, EXTRA_JUDGED = 4.0, 0.5
# The same for the hits and misses, each, among the right answers, and among the wrong ones.
EXTRA_CALLED = 0.25
# A stratum with fewer says nothing of its own spread.
FEWEST = 2


def predictions(scores: ArrayLike, groups: ArrayLike) -> Floats:
    """What a judge says of each answer, in [0, 1]: its score, and without one (invalid) the mean of the scores in the group.

    A constant instead of the mean would be as right and less narrow: a group in which nothing is valid gets 0.5.

    Args:
        groups: shape (N,), the model of each answer.
    """
    score = np.asarray(scores, float)
    code, distinct = pd.factorize(np.asarray(groups))
    valid = ~np.isnan(score)
    count = np.bincount(code[valid], minlength=len(distinct))
    total = np.bincount(code[valid], score[valid], len(distinct))
    mean = np.divide(total, count, out=np.full(len(distinct), 0.5), where=count > 0)
    return np.where(valid, score, mean[code])


@dataclass(frozen=True)
class _Sample:
    """The labelled answers among all, with what every estimate needs.

    Attributes:
        known: shape (N,), which answers are labelled.
        code: shape (N,), number of each answer's stratum.
        size, labels: shape (strata,), answers and labelled ones of each stratum.
        question: shape (N,), number of each answer's cluster.
    """

    known: NDArray[np.bool_]
    code: NDArray[np.intp]
    size: Floats
    labels: Floats
    question: NDArray[np.intp]

    @classmethod
    def of(cls, truth: Floats, clusters: ArrayLike, strata: ArrayLike) -> _Sample | None:
        """None when a stratum has too few labels, or there is no answer."""
        known = ~np.isnan(truth)
        code, distinct = pd.factorize(np.asarray(strata))
        size = np.bincount(code, minlength=len(distinct)).astype(float)
        labels = np.bincount(code[known], minlength=len(distinct)).astype(float)
        if not len(truth) or labels.min() < FEWEST:
            return None
        return cls(known, code, size, labels, pd.factorize(np.asarray(clusters))[0])

    @property
    def count(self) -> int:
        """Labelled answers."""
        return int(self.labels.sum())

    def means(self, values: Floats) -> Floats:
        """Mean over the labelled answers of each stratum; `values` has one entry per answer."""
        return np.bincount(self.code[self.known], values[self.known], len(self.size)) / self.labels

    def variance(self, everywhere: Floats, labelled: Floats, labels: Floats | None = None) -> float:
        """Cluster-robust variance of mean(everywhere) + weighted mean over the labelled answers of `labelled`.

        Each labelled answer stands for the others of its stratum: what its stratum has in common is known of all answers, and
        the rest is uncertain by the draw.

        Args:
            everywhere: shape (N,), known of all answers.
            labelled: shape (N,), of which only the labelled answers' entries count.
            labels: shape (strata,), by how many labels to divide instead of those there are.
        """
        mean = self.means(labelled)
        # Of one label more than there are, the spread within a stratum would be right on average.
        spread = np.sqrt(self.labels / (self.labels - 1))
        weight = spread * self.size / (self.labels if labels is None else labels)
        influence = everywhere + mean[self.code]
        influence = influence - influence.mean()
        influence += np.where(self.known, weight[self.code] * (labelled - mean[self.code]), 0.0)
        sums = np.bincount(self.question, influence)
        return float((sums**2).sum()) / len(influence) ** 2 * len(sums) / max(len(sums) - 1, 1)

    def interval(self, value: float, centre: float, variance: float) -> Interval:
        """The interval around `centre`, within [0, 1], that holds the estimate.

        Its quantile is Student's t with as many degrees of freedom as there are labelled questions less strata.
        """
        freedom = max(len(np.unique(self.question[self.known])) - len(self.size), 1)
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * variance**0.5
        value = min(max(value, 0.0), 1.0)
        return Interval(value, min(max(centre - half, 0.0), value), max(min(centre + half, 1.0), value))


def prediction_powered(
    predicted: ArrayLike, truth: ArrayLike, clusters: ArrayLike, strata: ArrayLike, power: float | None = None
) -> Interval:
    """Accuracy over all answers, by PPI++; unknown when a stratum has fewer than two labels.

    Args:
        predicted: as `predictions` gives it.
        truth, clusters, strata: see above.
        power: how much the judge counts, in [0, 1]; 0 for the labels alone, `best_power` when left out.
    """
    y, f = np.asarray(truth, float), np.asarray(predicted, float)
    sample = _Sample.of(y, clusters, strata)
    if sample is None:
        return UNKNOWN
    strength = best_power(f, y, strata) if power is None else power
    rest = np.where(sample.known, y, 0.0) - strength * f
    mean = sample.means(rest)
    value = float((strength * f + mean[sample.code]).mean())
    # More labels, as many of each of right and wrong × judged right and wrong, in parts and spread over the strata.
    extra = (EXTRA_ALONE + (EXTRA_JUDGED - EXTRA_ALONE) * strength) * sample.labels / sample.count
    kinds = np.array([0.0, 1.0, -strength, 1.0 - strength])
    labels = sample.labels + extra
    centre = (sample.labels * mean + extra * kinds.mean()) / labels
    added = extra / 4 * ((kinds[:, None] - centre) ** 2).sum(axis=0) * (sample.size / len(y) / labels) ** 2
    variance = sample.variance(strength * f, rest, labels) + float(added.sum())
    return sample.interval(value, float((strength * f + centre[sample.code]).mean()), variance)


def best_power(predicted: ArrayLike, truth: ArrayLike, strata: ArrayLike) -> float:
    """How much the judge should count: the slope of label on prediction within strata, in [0, 1]; 0 where nothing tells.

    With N answers of which n are labelled, this is λ of PPI++ (its section 6) times N / (N - n), since there the predictions on
    the labelled answers do not count for the mean over all. The estimate is the same.
    """
    y, f = np.asarray(truth, float), np.asarray(predicted, float)
    sample = _Sample.of(y, np.arange(len(y)), strata)
    if sample is None:
        return 0.0
    known, code = sample.known, sample.code[sample.known]
    label, said = y[known] - sample.means(y)[code], f[known] - sample.means(f)[code]
    spread = float((said**2).sum())
    return float(np.clip((said * label).sum() / spread, 0, 1)) if spread else 0.0


def rogan_gladen(called: ArrayLike, truth: ArrayLike, clusters: ArrayLike, strata: ArrayLike) -> Interval:
    """Accuracy over all answers, by Rogan and Gladen; unknown when a stratum has fewer than two labels, when no answer or every one
    is labelled right, or when the judge calls right answers correct no more often than wrong ones.

    Args:
        called: whether the judge's verdict is correct; an invalid one is not.
        truth, clusters, strata: see above.
    """
    y, c = np.asarray(truth, float), np.asarray(called, float)
    sample = _Sample.of(y, clusters, strata)
    if sample is None:
        return UNKNOWN
    weight = np.where(sample.known, (sample.size / sample.labels)[sample.code], 0.0) / len(y)
    right, wrong = weight * (y == 1), weight * (y == 0)
    if not right.any() or not wrong.any():
        return UNKNOWN
    plain = _inverted(c.mean(), np.average(c, weights=right), np.average(c, weights=wrong))
    # A few more labels: as many hits as misses among the right answers, and among the wrong ones.
    part_of = EXTRA_CALLED / sample.count
    hits, alarms = ((part @ c + part_of) / (part.sum() + 2 * part_of) for part in (right, wrong))
    value, gap = _inverted(c.mean(), hits, alarms), hits - alarms
    if plain is None or value is None:
        return UNKNOWN
    share = min(max(value, 0.0), 1.0)
    on_right, on_wrong = share / (right.sum() + 2 * part_of), (1 - share) / (wrong.sum() + 2 * part_of)
    errors = np.where(y == 1, on_right * (c - hits), on_wrong * (c - alarms))
    added = on_right**2 * (hits**2 + (1 - hits) ** 2) + on_wrong**2 * (alarms**2 + (1 - alarms) ** 2)
    return sample.interval(plain, value, (sample.variance(c, -errors) + added * part_of / sample.count) / gap**2)


def _inverted(called: float, hits: float, alarms: float) -> float | None:
    """The share of right answers behind a share of called ones; None when the calls tell nothing."""
    return None if hits <= alarms else float((called - alarms) / (hits - alarms))
