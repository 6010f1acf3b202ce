"""Confidence sequences: intervals that hold at every number of labels at once, so that one may look after each and stop.

The capital of a gambler who bets against a mean grows if the mean is wrong, and exceeds 1 / alpha with a probability of at most
alpha if it is right, at whatever time (Ville's inequality). The sequence contains the means against which the capital has stayed
below: the hedged capital process of Waudby-Smith and Ramdas (2024, Journal of the Royal Statistical Society B 86:1), with their
plug-in bets.

The numbers bet on are, per label, an unbiased estimate of the accuracy: weight × judge's mean over all answers, plus (label -
weight × judge) / rate. The weight of the judge is tuned with the earlier labels. The sequence is about the accuracy on the answers
of this run, and labels must follow `sampling.order_answers`; the intervals of `ppi` also cover the draw of the questions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_judge.runtime.bootstrap import CONFIDENCE, Floats

GRID = 1001
# Largest share of the capital in one bet.
MAX_BET = 0.5
# The judge's weight before there are labels, and the labels that this guess is worth.
FIRST_WEIGHT, GUESS_LABELS = 0.5, 5.0


def label_values(predictions: Floats, truth: Floats, rates: Floats) -> tuple[Floats, float, float]:
    """Return an unbiased estimate of the accuracy per label, and the bounds of such values.

    Args:
        predictions: of all answers of a model, the labelled ones first, in the order of their labels, shape (N,).
        truth: of the labelled ones, shape (n,).
        rates: of the labelled ones, mean 1 over all answers, shape (n,).
    """
    mean, f = float(predictions.mean()), predictions[: len(truth)]
    deviation = f - mean
    # The slope of label on prediction over the earlier labels.
    products = np.cumsum(deviation * (truth - 0.5)), np.cumsum(deviation**2)
    guess = GUESS_LABELS * max(float(predictions.var()), 1e-6)
    above, below = (np.concatenate([[0.0], sums[:-1]])[: len(truth)] for sums in products)
    weight = np.clip((above + FIRST_WEIGHT * guess) / (below + guess), 0, 1)
    largest = float(1 / rates.min()) if len(rates) else 1.0
    return weight * mean + (truth - weight * f) / rates, -largest, 1 + largest


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
    low, high = value_bounds
    x = (np.asarray(values, float) - low) / (high - low)
    n = len(x)
    grid = np.linspace(*mean_bounds, GRID)
    means = np.clip((grid - low) / (high - low), 1e-9, 1 - 1e-9)
    steps = np.arange(1, n + 1)
    running_mean = (0.5 + np.cumsum(x)) / (steps + 1)
    variance = (0.25 + np.cumsum((x - running_mean) ** 2)) / (steps + 1)
    previous = np.concatenate([[0.25], variance[:-1]])[:n]
    bets = np.sqrt(2 * math.log(2 / alpha) / (previous * steps * np.log1p(steps)))
    capital: NDArray[np.float64] = np.zeros((2, GRID))
    inside, lows, highs = np.ones(GRID, bool), np.empty(n), np.empty(n)
    for step, (value, bet) in enumerate(zip(x, bets, strict=True)):
        capital[0] += np.log1p(np.minimum(bet, MAX_BET / means) * (value - means))
        capital[1] += np.log1p(-np.minimum(bet, MAX_BET / (1 - means)) * (value - means))
        remaining = inside & (capital.max(axis=0) < math.log(2 / alpha))
        # Where no mean remains, as may happen with probability alpha, the last interval stays.
        inside = remaining if remaining.any() else inside
        places = np.flatnonzero(inside)
        # The grid is coarse, so an end is the next excluded point.
        lows[step], highs[step] = grid[max(places[0] - 1, 0)], grid[min(places[-1] + 1, GRID - 1)]
    return lows, highs
