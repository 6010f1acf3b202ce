"""Labels of annotators, read from the sheet that they filled in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.audit.sampling import answer_id, answer_keys
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import rows

CORRECT, INCORRECT, CANNOT_TELL = VERDICTS = ("correct", "incorrect", "cannot tell")
TRUTH = {CORRECT: 1.0, INCORRECT: 0.0, CANNOT_TELL: math.nan}
COLUMNS = ("id", "verdict")
BATCH_ROWS = 4096
# Value of an answer without label; one that the annotator could not decide is NaN.
UNLABELLED = -1.0


def read_labels(path: Path) -> dict[str, float]:
    """Read a sheet: id → 1 for correct, 0 for incorrect, NaN for cannot tell. Rows without verdict are skipped.

    Raises:
        InputError: not a CSV file, a column is missing, an unknown verdict, an empty or repeated id, or no verdict at all.
    """
    sheet = rows.open_rows(path, "csv", needed=COLUMNS)
    if missing := [name for name in COLUMNS if name not in sheet.columns]:
        present = ", ".join(map(repr, sheet.columns))
        raise InputError(f"{path}: no column {missing[0]!r}; available: {present}; save the sheet as CSV with commas")
    labels: dict[str, float] = {}
    positions: dict[str, str] = {}
    for position, record in sheet.records(COLUMNS):
        id_cell, verdict_cell = record["id"], record["verdict"]
        identity, verdict = (id_cell or "").strip(), " ".join((verdict_cell or "").casefold().split())
        if not identity:
            raise InputError(f"{path}: {position} has no id; use the original sheet and change only the verdicts")
        if identity in positions:
            raise InputError(f"{path}: the id {identity!r} occurs at {positions[identity]} and again at {position}; remove one")
        positions[identity] = position
        if verdict and verdict not in TRUTH:
            raise InputError(
                f"{path}: {position}: the verdict is {verdict_cell!r:.60}; use {', '.join(VERDICTS)}, or leave it empty"
            )
        if verdict:
            labels[identity] = TRUTH[verdict]
    if not labels:
        raise InputError(f"{path}: no row has a verdict; label some answers, or leave out audit.labels until then")
    return labels


def match_labels(verdicts: pd.DataFrame, scores: Sequence[Path], labels: Mapping[str, float], source: Path) -> NDArray[np.float64]:
    """Return the label of each row of `verdicts`: 1, 0, NaN (cannot tell) or `UNLABELLED`.

    Args:
        verdicts: all answers, from `score_tables.load_verdicts`.
        scores: their score tables.
        labels: from `read_labels`.
        source: the sheet, for messages.

    Raises:
        InputError: an id belongs to no answer.
    """
    schema = tables.scores_schema([])
    schema = replace(schema, columns=tuple(c for c in schema.columns if c.name in (*score_tables.KEY, "candidate")))
    label_of_key: dict[tuple[str, str, str, int], float] = {}
    matched = set()
    for path in scores:
        model, task = score_tables.identify_table(path)
        for batch in tables.read_batches(path, schema, BATCH_ROWS):
            for sample_id, attempt, text in zip(batch["sample_id"], batch["attempt"], batch["candidate"], strict=True):
                key = (model, task, str(sample_id), int(attempt))
                if (identity := answer_id(*key, text)) in labels:
                    label_of_key[key] = labels[identity]
                    matched.add(identity)
    if unknown := [identity for identity in labels if identity not in matched]:
        raise InputError(
            f"{source}: the id {unknown[0]!r} belongs to no answer of this run ({len(unknown)} such rows); "
            "remove rows of other runs and of answers that have changed"
        )
    return np.array([label_of_key.get(key, UNLABELLED) for key in answer_keys(verdicts)], float)


def labels_from_gold(verdicts: pd.DataFrame, sample: pd.DataFrame, gold: str) -> NDArray[np.float64]:
    """Return the gold judge's verdicts on the sampled rows as labels, NaN where it is invalid."""
    sampled = set(answer_keys(sample))
    labels = verdicts[f"{gold}_verdict"].astype(str).map({"correct": 1.0, "incorrect": 0.0})
    return np.where([key in sampled for key in answer_keys(verdicts)], labels, UNLABELLED)
