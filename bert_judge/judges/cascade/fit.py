"""Where the judges of a cascade are sure, learnt from rows whose right verdicts are known.

The trust in a judge's verdict is the share of rows like it on which the judge was right: isotonic in the score, apart for "correct"
and "incorrect", and over those rows only that the judges before it leave. One number, the least trust with which a judge decides,
gives the cuts of all judges; from high to low it trades agreement for cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from bert_judge.judges.cascade.judge import Cuts
from bert_judge.runtime.errors import InputError

# Trust is a share of at least so many rows.
LEAST_ROWS = 20
# Finer where it matters; above 1 no judge but the last decides, at 0 the first decides whatever it can.
TRUSTS = np.unique(np.concatenate([[0.0], np.linspace(0.5, 0.98, 49), np.linspace(0.98, 1.0, 21), [2.0]]))

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Verdicts:
    """A judge's verdicts on the rows.

    Attributes:
        said: texts out of `tables.VERDICTS`, shape (n,).
        scores: in [0, 1], NaN where invalid, shape (n,).
    """

    said: NDArray[np.object_]
    scores: Floats


@dataclass(frozen=True)
class Point:
    """One choice of cuts and what it gives on the rows.

    Attributes:
        trust: the least trust with which a judge decides.
        cuts: judge → where it is sure, for all but the last.
        seen: judge → share of the rows that it looks at.
        agreement: share of the rows with the right verdict.
    """

    trust: float
    cuts: Mapping[str, Cuts]
    seen: Mapping[str, float]
    agreement: float


def trade_off(judges: Mapping[str, Verdicts], right: Bools) -> list[Point]:
    """What a cascade gives for every least trust, the strictest first; choices with the same outcome stand once.

    Args:
        judges: the cheapest first.
        right: whether each row is right, shape (n,).

    Raises:
        InputError: there are no rows.
    """
    if not len(right):
        raise InputError("no rows to fit a cascade on; raise the dataset's share of validation questions")
    points = [_point(float(trust), judges, right) for trust in TRUSTS[::-1]]
    distinct = {(point.agreement, *point.seen.values()): point for point in reversed(points)}
    return [point for point in points if distinct[(point.agreement, *point.seen.values())] is point]


def choose(points: list[Point], accuracy: float | None, budget: float | None) -> Point:
    """The cheapest choice of the wanted agreement, or the best one within the budget.

    Args:
        points: of `trade_off`.
        accuracy: least share of rows with the right verdict; the cheapest choice leaves the fewest rows to the last judge,
            then to the one before.
        budget: largest share of rows that the last judge sees.

    Raises:
        InputError: no choice is good or cheap enough.
    """
    last = list(points[0].seen)[-1]
    if accuracy is not None:
        good = [point for point in points if point.agreement >= accuracy]
        if not good:
            best = max(point.agreement for point in points)
            raise InputError(f"accuracy: {accuracy} is not reached, the most is {best:.3f}; lower it or name a better last judge")
        return min(good, key=lambda point: (list(point.seen.values())[::-1], -point.agreement))
    cheap = [point for point in points if budget is None or point.seen[last] <= budget]
    if not cheap:
        least = min(point.seen[last] for point in points)
        raise InputError(f"budget: {budget} is not kept, {last!r} sees at least {least:.3f} of the rows; raise it")
    return max(cheap, key=lambda point: (point.agreement, -point.seen[last]))


def _point(trust: float, judges: Mapping[str, Verdicts], right: Bools) -> Point:
    left = np.ones(len(right), dtype=bool)
    agrees = np.zeros(len(right), dtype=bool)
    cuts: dict[str, Cuts] = {}
    seen: dict[str, float] = {}
    *early, last = judges
    for name in early:
        verdicts = judges[name]
        hit = verdicts.said == np.where(right, "correct", "incorrect")
        seen[name] = float(left.mean())
        cuts[name] = Cuts(
            low=_cut(verdicts, left & (verdicts.said == "incorrect"), hit, trust, falling=True),
            high=_cut(verdicts, left & (verdicts.said == "correct"), hit, trust, falling=False),
        )
        sure = left & cuts[name].sure(verdicts.said, verdicts.scores)
        agrees |= sure & hit
        left &= ~sure
    seen[last] = float(left.mean())
    agrees |= left & (judges[last].said == np.where(right, "correct", "incorrect"))
    return Point(trust, cuts, seen, float(agrees.mean()))


def _cut(verdicts: Verdicts, rows: Bools, hit: Bools, trust: float, falling: bool) -> float | None:
    """The least confident score at which the trust is reached; None: nowhere.

    Args:
        rows: those that the verdict is about.
        falling: lower scores are the more confident ones.
    """
    if not rows.any():
        return None
    scores, place, size = np.unique(verdicts.scores[rows], return_inverse=True, return_counts=True)
    hits = np.bincount(place, hit[rows])
    if falling:
        scores, size, hits = scores[::-1], size[::-1], hits[::-1]
    # Equal scores share a bin; one that is too small joins the next, the last one joins the one before.
    number = np.minimum((size.cumsum() - 1) // LEAST_ROWS, max(size.sum() // LEAST_ROWS - 1, 0))
    bins, first = np.unique(number, return_index=True)
    sizes, right = (np.add.reduceat(counts, first) for counts in (size, hits))
    # Half a row of either kind: a few rows without a fault are no proof.
    trusted = IsotonicRegression().fit_transform(bins, (right + 0.5) / (sizes + 1), sample_weight=sizes)
    enough = np.flatnonzero(trusted >= trust)
    return float(scores[first[enough[0]]]) if len(enough) else None
