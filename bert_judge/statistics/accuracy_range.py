"""The range in which an accuracy lies if a judge is certain of some verdicts only, and that of a difference of two accuracies.

The certain verdicts count as they are, and the uncertain ones as incorrect at the lower end and as correct at the upper end. This
is the widest range; it needs no assumption about the errors among uncertain verdicts, which differ between sources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Up to this share of uncertain verdicts, an accuracy by itself is printed without its range.
MAX_UNCERTAIN = 0.2
# Ranges that are less apart leave an order open: certain verdicts are wrong in up to 10%, and on the answers of one model, which
# has a style of its own, in more than on those of another.
MIN_GAP = 0.05


class AccuracyRange(NamedTuple):
    """Shares of the answers, from 0 to 1.

    Attributes:
        accuracy: share of correct verdicts.
        certain: share of certain verdicts; NaN where the judge makes no claim.
        low, high: accuracy if every uncertain verdict were incorrect, and correct; NaN where the judge makes no claim.
    """

    accuracy: float
    certain: float
    low: float
    high: float

    @property
    def uncertain(self) -> float:
        return 1 - self.certain

    @property
    def is_wide(self) -> bool:
        """Whether more than `MAX_UNCERTAIN` of the verdicts are uncertain."""
        return self.uncertain > MAX_UNCERTAIN


def accuracy_range(correct: ArrayLike, uncertain: ArrayLike, has_claim: ArrayLike) -> AccuracyRange:
    """Compute the range of an accuracy.

    Args:
        correct, uncertain: whether the verdict is correct, and whether the judge is uncertain of it, shape (n,).
        has_claim: whether the judge says of the verdict that it is certain or uncertain, shape (n,).
    """
    hits, doubts = np.asarray(correct, bool), np.asarray(uncertain, bool)
    if not np.any(has_claim):
        return AccuracyRange(float(hits.mean()) if hits.size else math.nan, math.nan, math.nan, math.nan)
    accuracy, share, low, high = (float(of.mean()) for of in (hits, doubts, hits & ~doubts, hits | doubts))
    return AccuracyRange(accuracy, 1 - share, low, high)


def open_pairs(ranges: Mapping[str, AccuracyRange]) -> list[tuple[str, str]]:
    """Return the pairs of models whose order a judge leaves open, whatever its share of uncertain verdicts: (better, worse) by
    accuracy.

    The range of the worse one comes closer than `MIN_GAP` to that of the better one; equal accuracies of certain verdicts are a
    tie.
    """
    best_first = sorted(ranges, key=lambda model: -ranges[model].accuracy)
    return [(better, worse) for better, worse in combinations(best_first, 2) if _is_open(ranges[better], ranges[worse])]


def _is_open(better: AccuracyRange, worse: AccuracyRange) -> bool:
    is_tie = better.accuracy == worse.accuracy and min(better.certain, worse.certain) == 1
    return better.low - worse.high < MIN_GAP and not is_tie
