"""The sheet that people filled, read back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation import scores as score_tables
from bert_judge.evaluation.audit import draw
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats

CORRECT, INCORRECT, CANNOT_TELL = VERDICTS = ("correct", "incorrect", "cannot tell")
TRUTH = {CORRECT: 1.0, INCORRECT: 0.0, CANNOT_TELL: math.nan}
COLUMNS = ("id", "verdict")
ROWS_AT_ONCE = 4096
# What an answer without label has; one that a person could not tell about is not a number.
UNSEEN = -1.0


def read(path: Path) -> dict[str, float]:
    """What people said of the answers on a sheet: id → 1 for correct, 0 for incorrect, NaN for cannot tell.

    A row without a verdict is one that nobody looked at yet, and is left out.

    Raises:
        InputError: no CSV file, one of its columns is missing, another word than these three, an id that is empty or there twice,
            or no verdict at all.
    """
    columns = formats.read(path, "csv", COLUMNS)
    if missing := [name for name in COLUMNS if name not in columns.values]:
        there = ", ".join(map(repr, columns.present))
        raise InputError(f"{path}: no column {missing[0]!r}; there are {there}; save the sheet as CSV with commas")
    found: dict[str, float] = {}
    seen: dict[str, str] = {}
    for place, cell, said in zip(columns.places, columns.values["id"], columns.values["verdict"], strict=True):
        identity, word = (cell or "").strip(), " ".join((said or "").casefold().split())
        if not identity:
            raise InputError(f"{path}: {place} has no id; take the sheet as it was drawn and change the verdicts only")
        if identity in seen:
            raise InputError(f"{path}: the id {identity!r} stands at {seen[identity]} and again at {place}; remove one")
        seen[identity] = place
        if word and word not in TRUTH:
            raise InputError(f"{path}: {place}: the verdict is {said!r:.60}; write {', '.join(VERDICTS)}, or nothing")
        if word:
            found[identity] = TRUTH[word]
    if not found:
        raise InputError(f"{path}: no row has a verdict; mark some answers, or leave audit.labels out until then")
    return found


def of_answers(verdicts: pd.DataFrame, scores: Sequence[Path], said: Mapping[str, float], source: Path) -> NDArray[np.float64]:
    """What was said of each row of `verdicts`: 1, 0, NaN (cannot tell), `UNSEEN`.

    Args:
        verdicts: all answers, as `standings.load_verdicts` gives them.
        scores: their score tables.
        said: as `read` gives it.
        source: the sheet, for messages.

    Raises:
        InputError: an id belongs to no answer.
    """
    schema = tables.scores_schema([])
    schema = replace(schema, columns=tuple(c for c in schema.columns if c.name in (*score_tables.KEY, "candidate")))
    by_key: dict[tuple[str, str, str, int], float] = {}
    found = set()
    for path in scores:
        model, task = score_tables.origin(path)
        for batch in tables.read_batches(path, schema, ROWS_AT_ONCE):
            for sample_id, attempt, text in zip(batch["sample_id"], batch["attempt"], batch["candidate"], strict=True):
                key = (model, task, str(sample_id), int(attempt))
                if (identity := draw.identity(*key, text)) in said:
                    by_key[key] = said[identity]
                    found.add(identity)
    if unknown := [identity for identity in said if identity not in found]:
        raise InputError(
            f"{source}: the id {unknown[0]!r} belongs to no answer of this run ({len(unknown)} such rows); "
            "remove rows of other runs and of answers that were made anew"
        )
    return np.array([by_key.get(key, UNSEEN) for key in draw.keys(verdicts)], float)


def of_gold(verdicts: pd.DataFrame, chosen: pd.DataFrame, gold: str) -> NDArray[np.float64]:
    """The same from the gold judge: its verdicts on the drawn rows; where it is invalid, it could not tell."""
    drawn = set(draw.keys(chosen))
    words = {"correct": 1.0, "incorrect": 0.0, "invalid": math.nan}
    said = verdicts[f"{gold}_verdict"].astype(str)
    return np.array([words[word] if key in drawn else UNSEEN for key, word in zip(draw.keys(verdicts), said, strict=True)], float)
