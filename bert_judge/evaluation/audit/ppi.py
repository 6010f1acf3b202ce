"""Estimates of accuracies, and of differences between models, from a judge's verdicts on all answers and human labels on a sample.

The sample is drawn with known probabilities that do not depend on the truth, so the estimator is unbiased for any judge; a good
judge makes its intervals narrow.

`prediction_powered` is PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) for a mean: the judge's mean over all answers, plus
the mean of (label - judge) over the labelled ones. The judge has a weight in [0, 1] that minimises the variance (`_tune_weight`);
at 0 only the labels count.

An `Estimate` holds the influence of every question. The difference of two estimates is an estimate too: the influences of a
question that both models answered are subtracted before they are squared, so shared questions and shared labels narrow the
interval (a paired comparison).

**Sampling weights.** A labelled answer stands for 1 / its inclusion probability answers; the weights are then scaled so that the
labels of a stratum stand for all of its answers (post-stratification).

**Invalid verdicts.** The estimates cover all answers, and annotators label an answer with an invalid verdict like any other.
Its prediction is the mean of the others of its model (`impute_scores`), which the labels correct.

**Intervals** (95%) take the question as the sampling unit: the variance is the cluster-robust one of the estimate's influence
values, which covers the draw of the questions and of the labels. With few labels a good judge shows no error at all, and a Wald
interval would be far too narrow; so the interval, not the estimate, is computed with a few pseudo-labels of every kind, as Agresti
and Coull 1998 do for a proportion, and Agresti and Min 2005 for a paired difference. `benchmarks/coverage.py` measures the
coverage.

Shapes: every array has one entry per answer, labelled or not. `truth` is 1 for correct, 0 for incorrect, NaN for not labelled.
`clusters` and `strata` contain a hashable value per answer: its question, and the group within which labels stand for all answers
(`sampling.assign_strata`). `probabilities` are those of being labelled, up to a factor per stratum; equal ones by default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bert_judge.statistics.bootstrap import CONFIDENCE, UNKNOWN, Floats, Interval
from bert_judge.statistics.intervals import POWER

# Pseudo-labels that an interval is computed with: for the labels alone (Agresti and Coull's), and for the difference to a judge of
# weight 1. Chosen for coverage in `benchmarks/coverage.py`.
PSEUDO_LABELS_ALONE, PSEUDO_LABELS_JUDGED = 4.0, 0.5
# A stratum with fewer labels has no variance.
MIN_LABELS = 2


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An accuracy, or a difference of two.

    Attributes:
        value: the estimate.
        centre: of the interval, computed with pseudo-labels.
        influence: of each question's answers and labels on the estimate.
        added_variance: of the pseudo-labels.
        degrees_of_freedom: of Student's t.
        bounds: smallest and largest possible value.
    """

    value: float
    centre: float
    influence: pd.Series
    added_variance: float
    degrees_of_freedom: int
    bounds: tuple[float, float] = (0.0, 1.0)

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference, paired by question."""
        return Estimate(
            value=self.value - other.value,
            centre=self.centre - other.centre,
            influence=self.influence.sub(other.influence, fill_value=0.0),
            added_variance=self.added_variance + other.added_variance,
            degrees_of_freedom=min(self.degrees_of_freedom, other.degrees_of_freedom),
            bounds=(self.bounds[0] - other.bounds[1], self.bounds[1] - other.bounds[0]),
        )

    def standard_error(self) -> float:
        n = len(self.influence)
        return math.sqrt(float((self.influence**2).sum()) * n / max(n - 1, 1) + self.added_variance)

    def interval(self) -> Interval:
        """Return the 95% interval, within the bounds and extended to the estimate."""
        low, high = self.bounds
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, self.degrees_of_freedom)) * self.standard_error()
        value = min(max(self.value, low), high)
        return Interval(value, min(max(self.centre - half, low), value), max(min(self.centre + half, high), value))

    def p_value(self) -> float:
        """Return the two-sided p value of the hypothesis that the true value is 0; it agrees with the interval."""
        error = self.standard_error()
        return float(2 * stats.t.sf(abs(self.centre) / error, self.degrees_of_freedom)) if error else math.nan

    def min_detectable(self) -> float:
        """Return the smallest true value that a two-sided test at 5% tells from 0 with a power of 80%."""
        return float(stats.norm.ppf((1 + CONFIDENCE) / 2) + stats.norm.ppf(POWER)) * self.standard_error()


def interval_of(estimate: Estimate | None) -> Interval:
    """Return the interval of an estimate, all NaN where there is none."""
    return UNKNOWN if estimate is None else estimate.interval()


def impute_scores(scores: ArrayLike, groups: ArrayLike) -> Floats:
    """Replace missing scores (invalid verdicts) by the mean of the group, an answer's model; 0.5 in a group without any."""
    score = pd.Series(np.asarray(scores, float))
    means = score.groupby(pd.factorize(np.asarray(groups))[0]).transform("mean")
    return score.fillna(means).fillna(0.5).to_numpy()


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """A stratified sample of labelled answers.

    Attributes:
        labelled: which answers are labelled, shape (N,).
        stratum: index of each answer's stratum, shape (N,).
        sizes, labels: answers and labelled answers of each stratum, shape (strata,).
        weight: answers that each labelled one stands for, 0 for the others, shape (N,).
        clusters: question of each answer, shape (N,).
    """

    labelled: NDArray[np.bool_]
    stratum: NDArray[np.intp]
    sizes: Floats
    labels: Floats
    weight: Floats
    clusters: NDArray[np.generic]

    @classmethod
    def build(cls, truth: Floats, clusters: ArrayLike, strata: ArrayLike, probabilities: ArrayLike | None) -> _Sample | None:
        """Return None if a stratum has too few labels, or there is no answer."""
        labelled = ~np.isnan(truth)
        stratum, distinct = pd.factorize(np.asarray(strata))
        sizes, labels = (np.bincount(s, minlength=len(distinct)).astype(float) for s in (stratum, stratum[labelled]))
        if not len(truth) or labels.min() < MIN_LABELS:
            return None
        weight = labelled.astype(float)
        if probabilities is not None:
            weight[labelled] /= np.asarray(probabilities, float)[labelled]
        weight *= (sizes / np.bincount(stratum, weight))[stratum]
        return cls(labelled=labelled, stratum=stratum, sizes=sizes, labels=labels, weight=weight, clusters=np.asarray(clusters))

    def means(self, values: Floats) -> Floats:
        """Average over the labelled answers of each stratum, shape (N,) → (strata,)."""
        return np.bincount(self.stratum, self.weight * values) / self.sizes

    def estimate(
        self, *, value: float, centre: float, all_values: Floats, labelled_values: Floats, added: float, shrinkage: ArrayLike = 1.0
    ) -> Estimate:
        """Return the estimate of mean(all_values) + stratified mean of labelled_values over the labelled answers.

        Args:
            all_values: known for all answers, shape (N,).
            labelled_values: shape (N,); only the entries of the labelled answers count.
            added: variance of the pseudo-labels.
            shrinkage: of the labels' influence by the pseudo-labels, shape (strata,).
        """
        mean = self.means(labelled_values)
        # Bessel's correction of the variance within a stratum.
        scale = np.sqrt(self.labels / (self.labels - 1)) * shrinkage
        answers = all_values + mean[self.stratum]
        labels = self.weight * scale[self.stratum] * (labelled_values - mean[self.stratum])
        question, distinct = pd.factorize(self.clusters)
        influence = np.bincount(question, answers - answers.mean() + labels) / len(answers)
        num_labels, num_questions = int(self.labels.sum()), len(np.unique(question[self.labelled]))
        degrees_of_freedom = max(min(num_labels - len(self.sizes), num_questions - 1), 1)
        return Estimate(
            value=value,
            centre=centre,
            influence=pd.Series(influence, pd.Index(distinct)),
            added_variance=added,
            degrees_of_freedom=degrees_of_freedom,
        )


def prediction_powered(
    predictions: ArrayLike,
    truth: ArrayLike,
    *,
    clusters: ArrayLike,
    strata: ArrayLike,
    probabilities: ArrayLike | None = None,
    weight: float | None = None,
) -> Estimate | None:
    """Estimate the accuracy over all answers by PPI++; None if a stratum has fewer than two labels.

    Args:
        predictions: from `impute_scores`.
        weight: of the judge, in [0, 1]; 0 for the labels alone, `_tune_weight` by default.
    """
    y, f = np.asarray(truth, float), np.asarray(predictions, float)
    sample = _Sample.build(y, clusters, strata, probabilities)
    if sample is None:
        return None
    judge_weight = _tune_weight(sample, f, y) if weight is None else weight
    residuals = np.where(sample.labelled, y, 0.0) - judge_weight * f
    mean = sample.means(residuals)
    value = float((judge_weight * f + mean[sample.stratum]).mean())
    # Pseudo-labels, as many of each of correct and incorrect × judged correct and incorrect, in proportion over the strata.
    pseudo_labels = PSEUDO_LABELS_ALONE + (PSEUDO_LABELS_JUDGED - PSEUDO_LABELS_ALONE) * judge_weight
    extra = pseudo_labels * sample.labels / sample.labels.sum()
    kinds = np.array([0.0, 1.0, -judge_weight, 1.0 - judge_weight])
    labels = sample.labels + extra
    shifted = (sample.labels * mean + extra * kinds.mean()) / labels
    added = extra / 4 * ((kinds[:, None] - shifted) ** 2).sum(axis=0) * (sample.sizes / len(y) / labels) ** 2
    centre = float((judge_weight * f + shifted[sample.stratum]).mean())
    return sample.estimate(
        value=value,
        centre=centre,
        all_values=judge_weight * f,
        labelled_values=residuals,
        added=float(added.sum()),
        shrinkage=sample.labels / labels,
    )


def _tune_weight(sample: _Sample, f: Floats, y: Floats) -> float:
    """Return the weight of the judge: the slope of label on prediction within strata, in [0, 1]; 0 where it is undefined.

    With N answers of which n are labelled, this is λ of PPI++ (its section 6) times N / (N - n), since here the predictions on
    the labelled answers do not count for the mean over all. The estimate is the same.
    """
    # The variance of a weighted mean is the sum of squared weights times residuals, so the weights of the regression are squared.
    rows, stratum = sample.labelled, sample.stratum[sample.labelled]
    labels = np.where(rows, y, 0.0)
    label, prediction = labels[rows] - sample.means(labels)[stratum], f[rows] - sample.means(f)[stratum]
    weights = sample.weight[rows] ** 2
    variance = float((weights * prediction**2).sum())
    return float(np.clip((weights * prediction * label).sum() / variance, 0, 1)) if variance else 0.0


# --- confidence sequences ---

GRID = 401
# Shares of the largest possible bet.
BETS = 0.9 / 2.0 ** np.arange(6)
# The judge's weight before there are labels, and the labels that this guess is worth.
FIRST_WEIGHT, GUESS_LABELS = 0.5, 5.0


def label_values(predictions: Floats, truth: Floats, rates: Floats) -> tuple[Floats, float, float]:
    """Return an unbiased estimate of the accuracy per label, and the bounds of such values.

    Args:
        predictions: of all answers of a model, the labelled ones first, in the order of their labels, shape (N,).
        truth: of the labelled ones, shape (n,).
        rates: of all answers, mean 1, shape (N,).
    """
    mean, f, rate = float(predictions.mean()), predictions[: len(truth)], rates[: len(truth)]
    deviation = f - mean
    # The slope of label on prediction over the earlier labels.
    products = np.cumsum(deviation * (truth - 0.5)), np.cumsum(deviation**2)
    guess = GUESS_LABELS * max(float(predictions.var()), 1e-6)
    above, below = (np.concatenate([[0.0], sums[:-1]])[: len(truth)] for sums in products)
    weight = np.clip((above + FIRST_WEIGHT * guess) / (below + guess), 0, 1)
    # A value lies between those of weight 0 and 1, and of label 0 and 1.
    shift = mean - predictions / rates
    low, high = np.minimum(shift, 0.0).min(), (1 / rates + np.maximum(shift, 0.0)).max()
    return weight * mean + (truth - weight * f) / rate, float(low), float(high)


def confidence_sequence(
    values: ArrayLike, *, value_bounds: tuple[float, float], mean_bounds: tuple[float, float], alpha: float = 1 - CONFIDENCE
) -> tuple[Floats, Floats]:
    """Return the lower and upper ends after each value, both of shape (n,).

    Args:
        values: with the same conditional mean, shape (n,).
        value_bounds: of the values.
        mean_bounds: of the mean.
        alpha: probability that the mean is ever excluded, at most.
    """
    x, grid = np.asarray(values, float)[:, None], np.linspace(*mean_bounds, GRID)
    # The largest bets that cannot lose all, on a mean above and below each one of the grid.
    largest = 1 / np.maximum(grid - value_bounds[0], 1e-9), -1 / np.maximum(value_bounds[1] - grid, 1e-9)
    gains = [np.cumsum(np.log1p(share * bet * (x - grid)), axis=0) for bet in largest for share in BETS]
    capital = np.maximum.accumulate(np.logaddexp.reduce(gains, axis=0) - math.log(len(gains)), axis=0)
    inside = capital < math.log(1 / alpha)
    # Where no mean remains, as may happen with probability alpha, the most credible one does.
    inside[np.arange(len(x)), capital.argmin(axis=1)] = True
    # The grid is coarse, so an end is the next excluded point.
    first, last = inside.argmax(axis=1), GRID - 1 - inside[:, ::-1].argmax(axis=1)
    return grid[np.maximum(first - 1, 0)], grid[np.minimum(last + 1, GRID - 1)]


def expected_labels(values: Floats, mean: float, alpha: float) -> int:
    """Return the number of values after which a sequence is expected to exclude 0, from the variance of the first ones.

    The best bet on normal values gains mean² / (2 variance) per value; its share of the capital has to grow to 1 / alpha.
    """
    return math.ceil(2 * math.log(2 * len(BETS) / alpha) * float(values.var(ddof=1)) / mean**2)


# --- a second judge in the place of a person ---


def correct_accuracy(rows: pd.DataFrame, error_rate: float = 0.0) -> Interval:
    """Estimate the accuracy by a second judge's verdicts; all NaN if a group of answers has fewer than two of them.

    The second judge saw all or some of the answers that the first is uncertain about and a random sample of the others: two strata,
    the uncertain and the certain answers. The interval is about the accuracy that it would find if it saw every answer. The truth
    differs from that by at most the share of answers on which it errs. Its verdicts do not tell this share, so an interval about
    the truth needs a bound of it from elsewhere.

    Args:
        error_rate: largest share of all answers on which the second judge errs, in whichever direction; above 0, the interval is
            about the true accuracy.
        rows: all answers: `question`, `model`, `certain`, the first judge's `score` (NaN for none) and `second`, the second judge's
            verdict (1 correct, 0 incorrect, NaN where it was not asked).
    """
    # A group of a single answer has no variance.
    sizes = rows["certain"].value_counts()
    strata = rows["certain"] if sizes.min() >= MIN_LABELS else pd.Series(data=True, index=rows.index)
    estimate = prediction_powered(
        impute_scores(rows["score"], rows["model"].astype(str)),
        rows["second"].to_numpy(float),
        clusters=rows["question"].to_numpy(),
        strata=strata.to_numpy(bool).astype(int),
    )
    interval = interval_of(estimate)
    low, high = np.clip([interval.low - error_rate, interval.high + error_rate], 0.0, 1.0)
    return replace(interval, low=float(low), high=float(high))


def second_judge_agreement(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return for the certain answers that the second judge saw whether both verdicts are equal, and their questions."""
    checked = rows[rows["certain"] & rows["second"].notna()]
    equal = (checked["verdict"] == "correct") == (checked["second"] == 1)
    return equal.to_numpy(bool), checked["question"].to_numpy()
