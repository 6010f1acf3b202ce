"""Confidence sequences: intervals that hold at every number of labels at once, so that one may look after each and stop.

The capital of a gambler who bets against a mean grows if the mean is wrong, and exceeds 1 / alpha with a probability of at most
alpha if it is right, at whatever time (Ville's inequality). The sequence contains the means against which the capital has stayed
below (Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical Society B 86:1). The gambler divides the capital among
constant shares of the largest possible bet, on a higher and on a lower mean (a mixture, their section 4.2), which needs no guess of
the variance.

The numbers bet on are, per label, an unbiased estimate of the accuracy: weight × judge's mean over all answers, plus (label -
weight × judge) / rate. The weight of the judge is tuned with the earlier labels. The sequence is about the accuracy on the answers
of this run, and labels must follow `sampling.order_answers`; the intervals of `ppi` also cover the draw of the questions.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from bert_judge.statistics.bootstrap import CONFIDENCE, Floats

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
