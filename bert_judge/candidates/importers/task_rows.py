"""The rows of an imported file that belong to a task, with the identity that answers, verdicts and questions are joined by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.candidates.importers import files

if TYPE_CHECKING:
    import pandas as pd


def of_task(
    spec: Mapping[str, Any],
    source: str | Path,
    needs: Collection[str] = (),
    may: Collection[str] = (),
    model: str | None = None,
) -> pd.DataFrame:
    """Read the part of an imported file that is a task.

    Args:
        spec: holds `task`, `part` (`where` and `questions`) and `import`.
        needs, may, model: see `files.read`; question and references are always read.

    Returns:
        The rows in the file's order, with `sample_id` and `attempt`, see `identified`.
    """
    frame = files.read(spec["import"], source, spec["part"]["where"], ["question", "references", *needs], may, model)
    low, high = spec["part"]["question_split"]
    points = {question: tables.question_point(question) for question in frame["question"].unique()}
    inside = frame["question"].map(lambda question: low <= points[question] and (points[question] < high or high >= 1))
    return identified(frame[inside.astype(bool)].reset_index(drop=True), spec["task"])


def identified(frame: pd.DataFrame, task: str) -> pd.DataFrame:
    """Add `sample_id`, and `attempt`: the running number of a row among those of its sample, of use when all are of one model."""
    pairs = zip(frame["question"], frame["references"], strict=True)
    frame = frame.assign(sample_id=[tables.sample_id(task, question, references) for question, references in pairs])
    return frame.assign(attempt=frame.groupby("sample_id").cumcount())
