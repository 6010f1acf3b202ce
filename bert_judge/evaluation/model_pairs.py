"""Which model is better than which for sure: every pair on the questions that both answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import statistics
from bert_judge.evaluation.matrix import Floats, Grid

# (level, group) → rows of verdicts.
Groups = Mapping[tuple[str, str], pd.DataFrame]


def model_pairs_table(groups: Groups, judges: Sequence[str]) -> pd.DataFrame:
    """One row per group, judge and pair of models, the better one first, in the schema `tables.MODEL_PAIRS`.

    A pair is compared on the answers (question and attempt) that both gave and on which the judge decided both. The interval is a
    bootstrap over questions. The exact test counts questions, on which the one or the other has more right answers: with
    one answer per question that is McNemar's test, and several answers to a question are no independent witnesses. All
    pairs of a group under one judge are one family for Holm's adjustment.
    """
    rows: list[dict[str, Any]] = []
    for (level, group), frame in groups.items():
        grid = Grid.of(frame)
        for judge in judges:
            said = frame[f"{judge}_verdict"]
            right = grid.spread((said == "correct").to_numpy(dtype=bool))
            valid = grid.spread((said != "invalid").to_numpy(dtype=bool))
            found = _pairs(grid, right, valid)
            adjusted = statistics.holm([row["p_value"] for row in found])
            for row, p in zip(found, adjusted, strict=True):
                rows.append({"level": level, "task": group, "judge": judge, **row, "p_holm": float(p)})
    return pd.DataFrame(rows, columns=tables.MODEL_PAIRS.names)


def _pairs(grid: Grid, right: Floats, valid: Floats) -> list[dict[str, Any]]:
    share = np.divide(right.sum(axis=0), valid.sum(axis=0), out=np.full(len(grid.models), -1.0), where=valid.sum(axis=0) > 0)
    order = np.argsort(-share, kind="stable")
    found = []
    for place, better in enumerate(order[:-1]):
        others = order[place + 1 :]
        both = valid[:, [better]] * valid[:, others]
        difference = grid.per_question((right[:, [better]] - right[:, others]) * both)
        size = grid.per_question(both)
        p = statistics.sign_test_p((difference > 0).sum(axis=0), (difference < 0).sum(axis=0))
        for at, other in enumerate(others):
            shared = size[:, at] > 0
            sums, rows = difference[shared, at], size[shared, at]
            interval = statistics.mean_of_clusters(sums, rows)
            found.append(
                {
                    "model": grid.models[better],
                    "other": grid.models[other],
                    "n": int(rows.sum()),
                    "questions": int(shared.sum()),
                    "difference": interval.value,
                    "low": interval.low,
                    "high": interval.high,
                    "p_value": float(p[at]) if shared.any() else np.nan,
                    "min_detectable_effect": statistics.detectable_difference(sums, rows),
                }
            )
    return found
