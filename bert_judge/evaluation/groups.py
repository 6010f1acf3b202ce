"""Groups of answers that are evaluated together: all, a family, a task, a model, answers of one length, style or status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from bert_judge.evaluation.score_tables import ANSWER_LENGTH, MODEL, STATUS, TASK

# (level, group) → frame of verdicts.
Groups = Mapping[tuple[str, str], pd.DataFrame]
Group = tuple[tuple[str, str], pd.DataFrame]
# Upper bounds of the classes of answer lengths, in characters; fixed, so that runs can be compared.
LENGTH_BOUNDS = (20, 100, 500, 2000)


def group_by_task(frame: pd.DataFrame) -> Iterator[Group]:
    """Yield all answers, then each task."""
    yield ("all", "all"), frame
    yield from _group_by(frame, "task", frame[TASK])


def group_by_family(frame: pd.DataFrame, families: Mapping[str, str]) -> Iterator[Group]:
    """Yield all answers, each family of tasks (task → family), each task."""
    yield ("all", "all"), frame
    yield from _group_by(frame, "family", frame[TASK].map(families))
    yield from _group_by(frame, "task", frame[TASK])


def group_by_answer_features(frame: pd.DataFrame, styles: Mapping[str, str]) -> Iterator[Group]:
    """Yield each model, class of lengths, style and status, if there are at least two of the kind.

    Args:
        frame: with the columns `STATUS` and `ANSWER_LENGTH`.
        styles: model → style of its answers, where it is known.
    """
    for level, values in (
        ("model", frame[MODEL]),
        ("length", length_class(frame[ANSWER_LENGTH])),
        ("style", frame[MODEL].map(styles)),
        ("status", frame[STATUS]),
    ):
        if values.nunique() > 1:
            yield from _group_by(frame, level, values)


def length_class(characters: pd.Series) -> pd.Series:
    """Return the class of each length as ordered text: `1–20` characters and so on."""
    names = ["0", f"1–{LENGTH_BOUNDS[0]}", *(f"{a + 1:,}–{b:,}" for a, b in pairwise(LENGTH_BOUNDS))]
    names.append(f"over {LENGTH_BOUNDS[-1]:,}")
    return pd.cut(characters, [-1, 0, *LENGTH_BOUNDS, np.inf], labels=names)


def _group_by(frame: pd.DataFrame, level: str, values: pd.Series) -> Iterator[Group]:
    for name, rows in frame.groupby(values, sort=True, observed=True):
        yield (level, str(name)), rows
