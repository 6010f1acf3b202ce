"""The range in which an accuracy lies if a judge is certain of some verdicts only, and that of a difference of two accuracies.

The certain verdicts count as they are, and the uncertain ones as incorrect at the lower end and as correct at the upper end. This
is the widest range; it needs no assumption about the errors among uncertain verdicts, which differ between sources.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Up to this share of uncertain verdicts, the accuracy stands for itself.
MAX_UNCERTAIN = 0.2


class AccuracyRange(NamedTuple):
    """Shares of the answers, from 0 to 1.

    Attributes:
        certain: share of certain verdicts; NaN where the judge makes no claim.
        low, high: accuracy if every uncertain verdict were incorrect, and correct; NaN where at most `MAX_UNCERTAIN` are uncertain.
    """

    certain: float
    low: float
    high: float

    @property
    def uncertain(self) -> float:
        return 1 - self.certain


NO_CLAIM = AccuracyRange(math.nan, math.nan, math.nan)


def accuracy_range(correct: ArrayLike, uncertain: ArrayLike, has_claim: ArrayLike) -> AccuracyRange:
    """Compute the range of an accuracy.

    Args:
        correct, uncertain: whether the verdict is correct, and whether the judge is uncertain of it, shape (n,).
        has_claim: whether the judge says of the verdict that it is certain or uncertain, shape (n,).
    """
    hits, doubts = np.asarray(correct, bool), np.asarray(uncertain, bool)
    if not np.any(has_claim):
        return NO_CLAIM
    share = float(doubts.mean())
    if share <= MAX_UNCERTAIN:
        return AccuracyRange(1 - share, math.nan, math.nan)
    return AccuracyRange(1 - share, float((hits & ~doubts).mean()), float((hits | doubts).mean()))
