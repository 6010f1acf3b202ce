"""Ranking of several answers to one question, and grading of one answer against references, by a pairwise judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bert_judge.judges.pairwise.protocol import Pair, PairJudge, Preference
from bert_judge.runtime.errors import InputError


@dataclass(frozen=True)
class Ranking:
    """The result of a round robin.

    Attributes:
        order: indices of the answers, best first; equal ones in the given order.
        ranks: rank of each answer, 1 is best; answers with equal points share the better rank.
        points: of each answer, the mean of its results against all others, in [0, 1].
        undecided: comparisons that are `inconsistent` or `invalid`; each counts half a point for both.
        comparisons: (index, index) → preference, the first answer being its A.
    """

    order: list[int]
    ranks: list[int]
    points: list[float]
    undecided: int
    comparisons: dict[tuple[int, int], Preference]


def rank(judge: PairJudge, question: str, answers: Sequence[str], references: Sequence[str] = ()) -> Ranking:
    """Compare every answer with every other one and count points: 1 for a win, half for a tie.

    Raises:
        InputError: there are fewer than two answers.
    """
    if len(answers) < 2:
        raise InputError(f"rank needs at least two answers; got {len(answers)}")
    index_pairs = list(combinations(range(len(answers)), 2))
    preferences = judge.compare([Pair(question, answers[i], answers[j], tuple(references)) for i, j in index_pairs])
    totals = np.zeros(len(answers))
    for (i, j), preference in zip(index_pairs, preferences, strict=True):
        result = {"A": 1.0, "B": 0.0}.get(preference.verdict, 0.5)
        totals[i] += result
        totals[j] += 1 - result
    points = totals / (len(answers) - 1)
    undecided = sum(preference.verdict in ("inconsistent", "invalid") for preference in preferences)
    order = np.argsort(-points, kind="stable").tolist()
    ranks = [1 + int((points > value).sum()) for value in points]
    return Ranking(order, ranks, points.tolist(), undecided, dict(zip(index_pairs, preferences, strict=True)))


def grade(judge: PairJudge, question: str, answer: str, references: Sequence[str]) -> Preference:
    """Compare one answer, as A, with each reference; return the most favourable preference.

    Zhu et al. 2023 (JudgeLM, section 6) grade a single answer this way. A verdict of A or tie means that it is as good as a
    reference.

    Raises:
        InputError: there is no reference.
    """
    if not references:
        raise InputError("grade needs a reference to compare the answer with; without one, rank several answers")
    preferences = judge.compare([Pair(question, answer, reference, tuple(references)) for reference in references])
    return max(preferences, key=lambda preference: -1.0 if preference.score is None else preference.score)
