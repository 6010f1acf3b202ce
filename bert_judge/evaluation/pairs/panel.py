"""How far people agree with each other about pairs: the ceiling that a judge can be held against.

Each person in turn is left out and compared with the majority of the others (leave one annotator out); the judge stands in the
place of the one left out, against the same others. Where the others are split, each of their commonest votes is the majority in
equal parts, so no pair is left out because people differ about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bert_judge.evaluation.intervals import of_lines, share
from bert_judge.evaluation.pairs.bootstrap import Draws
from bert_judge.evaluation.statistics import UNKNOWN, Interval


@dataclass(frozen=True)
class Panel:
    """Agreement with the others, over all people left out: the people's own, the judge's, and the judge's minus theirs."""

    people: Interval
    judge: Interval
    excess: Interval


def measured(verdicts: pd.Series, votes: pd.Series, draws: Draws) -> Panel:
    """Compare a judge with people.

    Args:
        verdicts: the judge's, shape (n,).
        votes: a list of at least two votes for each pair, shape (n,).
        draws: over the questions of these rows.
    """
    if not len(votes):
        return Panel(UNKNOWN, UNKNOWN, UNKNOWN)
    credits = np.array([_credit(verdict, given) for verdict, given in zip(verdicts, votes, strict=True)])
    judge, people, chairs = draws.totals(credits).T
    return Panel(of_lines(share(people, chairs)), of_lines(share(judge, chairs)), of_lines(share(judge - people, chairs)))


def enough(votes: pd.Series) -> pd.Series:
    """Which pairs have two votes or more."""
    return votes.map(lambda given: given is not None and len(given) > 1).astype(bool)


def _credit(verdict: str, votes: Sequence[str]) -> tuple[float, float, float]:
    """Of one pair: the judge's agreement, the people's agreement, and how many people were left out in turn."""
    judge = people = 0.0
    for at, vote in enumerate(votes):
        majority = _majority([*votes[:at], *votes[at + 1 :]])
        judge += majority.get(verdict, 0.0)
        people += majority.get(vote, 0.0)
    return judge, people, float(len(votes))


def _majority(votes: Sequence[str]) -> dict[str, float]:
    """The commonest votes, in equal parts that sum to 1."""
    counts = Counter(votes)
    most = max(counts.values())
    commonest = [vote for vote, count in counts.items() if count == most]
    return dict.fromkeys(commonest, 1 / len(commonest))


def people_alone(votes: pd.Series, draws: Draws) -> Interval:
    """People's own agreement with the majority of the others. Arguments as for `measured`."""
    nobody = pd.Series([""] * len(votes))
    return measured(nobody, votes, draws).people
