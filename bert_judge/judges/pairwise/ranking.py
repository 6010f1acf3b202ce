"""Several answers to one question in an order, and one answer against a reference, by a judge of two answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bert_judge.judges.pairwise.protocol import Pair, PairJudge, Preference
from bert_judge.runtime.errors import InputError


@dataclass(frozen=True)
class Ranking:
    """Answers in the order of a round robin.

    Attributes:
        order: positions of the answers, best first; equal ones in the order in which they were given.
        places: place of each answer, 1 is best; answers with equal points share the better place.
        points: of each answer, the mean of its scores against all others, in [0, 1].
        undecided: meetings without a sound verdict (`inconsistent` or `invalid`); each counts as half a point for both.
        meetings: (position, position) → what the judge said, the first of them being its A.
    """

    order: list[int]
    places: list[int]
    points: list[float]
    undecided: int
    meetings: dict[tuple[int, int], Preference]


def rank(judge: PairJudge, question: str, answers: Sequence[str], references: Sequence[str] = ()) -> Ranking:
    """Compare every answer with every other one and count points: 1 for a win, half for a tie.

    Args:
        answers: at least two.

    Raises:
        InputError: there are fewer than two answers.
    """
    if len(answers) < 2:
        raise InputError(f"rank needs at least two answers; got {len(answers)}")
    both = list(combinations(range(len(answers)), 2))
    found = judge.compare([Pair(question, answers[i], answers[j], tuple(references)) for i, j in both])
    points = np.zeros(len(answers))
    for (i, j), preference in zip(both, found, strict=True):
        won = {"A": 1.0, "B": 0.0}.get(preference.verdict, 0.5)
        points[i] += won
        points[j] += 1 - won
    means = points / (len(answers) - 1)
    undecided = sum(preference.verdict in ("inconsistent", "invalid") for preference in found)
    order = np.argsort(-means, kind="stable").tolist()
    places = [1 + int((means > own).sum()) for own in means]
    return Ranking(order, places, means.tolist(), undecided, dict(zip(both, found, strict=True)))


def grade(judge: PairJudge, question: str, answer: str, references: Sequence[str]) -> Preference:
    """One answer on its own: compared with a good one, the answer being A. Of several references the one that it does best against.

    Zhu et al. 2023 (JudgeLM, section 6) grade a single answer so. A verdict of A or tie says that it is as good as a reference.

    Raises:
        InputError: there is no reference.
    """
    if not references:
        raise InputError("grade needs a reference to compare the answer with; without one, rank several answers")
    found = judge.compare([Pair(question, answer, reference, tuple(references)) for reference in references])
    return max(found, key=lambda preference: -1.0 if preference.score is None else preference.score)
