"""Comparison of models: ranks with intervals, paired differences, and rank shifts between judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bert_judge import tables
from bert_judge.evaluation.score_tables import MODEL, Groups
from bert_judge.judges.protocol import NOT_ATTEMPTED
from bert_judge.statistics.bootstrap import Floats, percentile_bounds, ratio, resample_totals
from bert_judge.statistics.intervals import (
    adjust_holm,
    is_significant,
    mean_of_clusters,
    min_detectable_effect,
    rank_lines,
    sign_test_p,
)


@dataclass(frozen=True)
class AnswerMatrix:
    """Positions of answers in a matrix with one row per question and attempt and one column per model.

    Attributes:
        models: names of the columns, sorted.
        row, column: position of each answer, shape (answers,).
        question: index of the question of each row, shape (rows,).
    """

    models: list[str]
    row: NDArray[np.intp]
    column: NDArray[np.intp]
    question: NDArray[np.intp]

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> AnswerMatrix:
        """Build it from a frame with `MODEL`, sample_id (unique over tasks) and attempt."""
        column, models = pd.factorize(frame[MODEL], sort=True)
        question, _ = pd.factorize(frame["sample_id"])
        attempts = int(frame["attempt"].max()) + 1 if len(frame) else 1
        row, distinct = pd.factorize(question * attempts + frame["attempt"].to_numpy(dtype=np.intp))
        return cls([str(model) for model in models], row, column, np.asarray(distinct, dtype=np.intp) // attempts)

    def fill(self, values: ArrayLike) -> Floats:
        """Arrange one number per answer as shape (rows, models), with 0 where a model has no answer."""
        matrix = np.zeros((len(self.question), len(self.models)))
        matrix[self.row, self.column] = np.asarray(values, dtype=float)
        return matrix

    def sum_by_question(self, matrix: Floats) -> Floats:
        """Sum over the rows of each question: shape (rows, k) → (questions, k)."""
        rows = np.arange(len(self.question))
        questions = int(self.question.max(initial=-1)) + 1
        indicator = sparse.csr_array((np.ones(len(rows)), (self.question, rows)), shape=(questions, len(rows)))
        return np.asarray(indicator @ matrix)


def is_valid(frame: pd.DataFrame, judge: str) -> NDArray[np.bool_]:
    """Return which verdicts of a judge are not invalid, shape (rows,)."""
    return (frame[f"{judge}_verdict"] != "invalid").to_numpy(dtype=bool)


def is_correct(frame: pd.DataFrame, judge: str) -> NDArray[np.bool_]:
    """Return which answers a judge calls correct, shape (rows,)."""
    return (frame[f"{judge}_verdict"] == "correct").to_numpy(dtype=bool)


def is_attempted(frame: pd.DataFrame, judge: str) -> NDArray[np.bool_]:
    """Return which answers attempt their question, shape (rows,)."""
    return (frame[f"{judge}_outcome"] != NOT_ATTEMPTED).to_numpy(dtype=bool)


def is_uncertain(frame: pd.DataFrame, judge: str) -> NDArray[np.bool_]:
    """Return of which verdicts a judge says that they are uncertain, shape (rows,); of one without a claim, none."""
    return frame[f"{judge}_certain"].eq(False).fillna(False).to_numpy(dtype=bool)


def has_claim(frame: pd.DataFrame, judge: str) -> NDArray[np.bool_]:
    """Return of which verdicts a judge says whether they are certain, shape (rows,)."""
    return frame[f"{judge}_certain"].notna().to_numpy(dtype=bool)


def resample_accuracies(matrix: AnswerMatrix, frame: pd.DataFrame, judges: Sequence[str]) -> dict[str, Floats]:
    """Compute the accuracy of each model under each judge, as observed and in each resample of the questions.

    All models and judges see the same draws, so ranks and rank correlations account for the difficulty that questions have for
    all models. Invalid verdicts count as incorrect. Shape (1 + resamples, models); NaN where a model has no answer.
    """
    values = [np.ones(len(frame)), *(is_correct(frame, judge) for judge in judges)]
    sums = np.stack([matrix.sum_by_question(matrix.fill(column)) for column in values], axis=1)
    totals = resample_totals(sums.astype(np.int32))
    return {judge: ratio(totals[:, index], totals[:, 0]) for index, judge in enumerate(judges, start=1)}


def rank_models(frame: pd.DataFrame, judges: Sequence[str]) -> dict[tuple[str, str], dict[str, float]]:
    """Rank models by accuracy: (judge, model) → `rank`, `rank_low`, `rank_high`."""
    matrix = AnswerMatrix.from_frame(frame)
    intervals: dict[tuple[str, str], dict[str, float]] = {}
    for judge, accuracies in resample_accuracies(matrix, frame, judges).items():
        ranks = rank_lines(accuracies)
        low, high = percentile_bounds(ranks, method="inverted_cdf")
        for index, model in enumerate(matrix.models):
            intervals[judge, model] = {"rank": ranks[0, index], "rank_low": low[index], "rank_high": high[index]}
    return intervals


def model_pairs_table(groups: Groups, judges: Sequence[str]) -> pd.DataFrame:
    """Compare every two models per group and judge, the better one first, in the schema `tables.MODEL_PAIRS`.

    Models are compared on the answers (question and attempt) that both gave. The interval is a bootstrap over questions. The
    exact test counts the questions on which either model has more correct answers: with one answer per question that is McNemar's
    test. All pairs of a group under one judge are one family for Holm's adjustment. Where a judge says which of its verdicts are
    certain, the difference has a range, see `statistics.accuracy_range`.
    """
    rows: list[dict[str, Any]] = []
    for (level, group), frame in groups.items():
        matrix = AnswerMatrix.from_frame(frame)
        answered = matrix.fill(np.ones(len(frame)))
        for judge in judges:
            correct, uncertain, claimed = (matrix.fill(values(frame, judge)) for values in (is_correct, is_uncertain, has_claim))
            pairs = mark_significant(_compare_pairs(matrix, correct, uncertain, claimed, answered))
            rows += [{"level": level, "task": group, "judge": judge, **pair} for pair in pairs]
    return pd.DataFrame(rows, columns=tables.MODEL_PAIRS.names)


def mark_significant(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add `p_holm` and `significant` to the comparisons of one family: `p_value`, and `low` and `high` of the difference; with
    `range_low` and `range_high`, if the judge may be uncertain."""
    adjusted = adjust_holm([pair["p_value"] for pair in pairs])
    bounds = ([pair.get(name, np.nan) for pair in pairs] for name in ("low", "high", "range_low", "range_high"))
    significant = is_significant(adjusted, *bounds)
    columns = zip(pairs, adjusted.tolist(), significant.tolist(), strict=True)
    return [{**pair, "p_holm": p, "significant": is_different} for pair, p, is_different in columns]


def _compare_pairs(
    matrix: AnswerMatrix, correct: Floats, uncertain: Floats, claimed: Floats, answered: Floats
) -> list[dict[str, Any]]:
    order = np.argsort(-correct.sum(axis=0) / answered.sum(axis=0), kind="stable")
    pairs = []
    for rank, better in enumerate(order[:-1]):
        opponents = order[rank + 1 :]
        both_answered = answered[:, [better]] * answered[:, opponents]
        differences = matrix.sum_by_question((correct[:, [better]] - correct[:, opponents]) * both_answered)
        sizes = matrix.sum_by_question(both_answered)
        p_values = sign_test_p((differences > 0).sum(axis=0), (differences < 0).sum(axis=0))
        range_low, range_high = _difference_range(correct, uncertain, claimed, both_answered, better, opponents)
        for index, opponent in enumerate(opponents):
            shared = sizes[:, index] > 0
            sums, rows = differences[shared, index], sizes[shared, index]
            pairs.append(
                {
                    "model": matrix.models[better],
                    "other": matrix.models[opponent],
                    "n": int(rows.sum()),
                    "questions": int(shared.sum()),
                    **mean_of_clusters(sums, rows).columns("difference"),
                    "range_low": range_low[index],
                    "range_high": range_high[index],
                    "p_value": float(p_values[index]) if shared.any() else np.nan,
                    "min_detectable_effect": min_detectable_effect(sums, rows),
                }
            )
    return pairs


def _difference_range(
    correct: Floats, uncertain: Floats, claimed: Floats, both_answered: Floats, model: np.intp, rivals: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Return the lowest and highest difference of a model and each other one if uncertain verdicts may be wrong, shape (others,).

    NaN where the judge says of no verdict on the two models whether it is certain.
    """
    counts = both_answered.sum(axis=0)
    low, high = correct * (1 - uncertain), np.maximum(correct, uncertain)
    lowest, highest = (
        ratio(((first[:, [model]] - second[:, rivals]) * both_answered).sum(axis=0), counts)
        for first, second in ((low, high), (high, low))
    )
    has_range = (np.maximum(claimed[:, [model]], claimed[:, rivals]) * both_answered).any(axis=0)
    return np.where(has_range, lowest, np.nan), np.where(has_range, highest, np.nan)


def rank_shifts_table(groups: Groups, judges: Sequence[str], reference: str | None) -> pd.DataFrame:
    """Compare each model's rank under every judge with its rank under the reference judge, in the schema `tables.RANK_SHIFTS`.

    Over the answers that the reference decided; an invalid verdict of the judge counts as incorrect.
    """
    rows: list[dict[str, Any]] = []
    if reference is not None:
        for (level, group), frame in groups.items():
            shifts = _rank_shifts(frame[is_valid(frame, reference)], [j for j in judges if j != reference], reference)
            rows += [{"level": level, "group": group, "reference": reference, **row} for row in shifts]
    table = pd.DataFrame(rows, columns=tables.RANK_SHIFTS.names)
    return table.astype(dict.fromkeys(["n", "rank_reference", "rank", "rank_shift", "low", "high"], "Int64"))


def _rank_shifts(frame: pd.DataFrame, judges: Sequence[str], reference: str) -> Iterator[dict[str, Any]]:
    matrix = AnswerMatrix.from_frame(frame)
    resampled = {j: rank_lines(accuracies) for j, accuracies in resample_accuracies(matrix, frame, [reference, *judges]).items()}
    answers = np.bincount(matrix.column, minlength=len(matrix.models))
    for judge in judges:
        ranks, reference_ranks = resampled[judge], resampled[reference]
        shifts = reference_ranks - ranks
        low, high = percentile_bounds(shifts, method="inverted_cdf")
        for index, model in enumerate(matrix.models):
            yield {
                "judge": judge,
                "model": model,
                "n": answers[index],
                "rank_reference": reference_ranks[0, index],
                "rank": ranks[0, index],
                "rank_shift": shifts[0, index],
                "low": low[index],
                "high": high[index],
            }
