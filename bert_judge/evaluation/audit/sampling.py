"""Systematic, stratified sampling of the answers that annotators label.

The answers of every model are sorted by the range of the judge's score (`SCORE_BOUNDS`) and by task, and every (N / size)-th is
drawn, from a start that depends on the seed. So the sample contains every range and task in its true share, and every answer of a
model has the same probability. Therefore the labels serve any judge, also one trained later, and any part of a sample that is
chosen without looking at the answers, such as the first half of a sheet, is a sample too.

Models are sampled independently: a new model changes no other model's sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bert_judge.evaluation.score_tables import KEY, MODEL, TASK
from bert_judge.runtime import keyed_random

# Bounds of the ranges of scores: 1 to 4, and 0 for answers without a score (invalid).
SCORE_BOUNDS = (0.1, 0.5, 0.9)
# The first range of scores with the verdict correct.
CORRECT_RANGE = 3
# A range with fewer labels is merged with the next; across the verdicts correct and incorrect only with fewer than the second.
MIN_LABELS, MIN_LABELS_PER_VERDICT = 5, 3


def score_ranges(scores: ArrayLike) -> NDArray[np.intp]:
    """Return the range of each score: 1 to 4, and 0 for NaN."""
    score = np.asarray(scores, float)
    return np.where(np.isnan(score), 0, 1 + np.digitize(score, SCORE_BOUNDS))


def assign_strata(models: ArrayLike, scores: ArrayLike, labelled: ArrayLike) -> NDArray[np.intp]:
    """Assign a stratum to each answer: a model's answers in a range of scores, merged until each has enough labels.

    Args:
        models: model of each answer, shape (N,).
        scores: of the judge that the sample was sorted by, NaN where there is none, shape (N,).
        labelled: booleans, shape (N,).
    """
    model = pd.factorize(np.asarray(models))[0]
    ranges, has_label = score_ranges(scores), np.asarray(labelled, bool)
    num_ranges = len(SCORE_BOUNDS) + 2
    strata = np.zeros(len(model), np.intp)
    for code in range(model.max(initial=-1) + 1):
        rows = model == code
        merged = _merge_ranges(np.bincount(ranges[rows & has_label], minlength=num_ranges))
        strata[rows] = code * num_ranges + merged[ranges[rows]]
    return strata


def _merge_ranges(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the stratum of each range of one model, from the number of labels in each range."""
    stratum, collected, strata = 0, 0, np.zeros(len(labels), np.intp)
    for index, count in enumerate(labels):
        required = MIN_LABELS_PER_VERDICT if index == CORRECT_RANGE else MIN_LABELS
        remaining = labels[index:CORRECT_RANGE] if index < CORRECT_RANGE else labels[index:]
        if collected >= required and remaining.sum() >= required:
            stratum, collected = stratum + 1, 0
        strata[index], collected = stratum, collected + count
    return strata


def draw_sample(verdicts: pd.DataFrame, judge: str, size: int, seed: int) -> pd.DataFrame:
    """Draw `size` rows per model, or all if there are fewer, in random order over all models.

    Args:
        verdicts: from `score_tables.load_verdicts`.
        judge: the judge whose scores the answers are sorted by.
    """
    by_model = verdicts.groupby(MODEL, sort=True, observed=True)
    samples = [_sample_model(rows, str(model), judge, size, seed) for model, rows in by_model]
    if not samples:
        return verdicts
    sample = pd.concat(samples)
    order = [keyed_random.fraction(seed, "order", *key) for key in answer_keys(sample)]
    return sample.iloc[np.argsort(order)].reset_index(drop=True)


def _sample_model(rows: pd.DataFrame, model: str, judge: str, size: int, seed: int) -> pd.DataFrame:
    tie_breakers = np.array([keyed_random.fraction(seed, "tie", *key) for key in answer_keys(rows)])
    order = np.lexsort((tie_breakers, pd.factorize(rows[TASK], sort=True)[0], score_ranges(rows[judge])))
    return rows.iloc[order[systematic_sample(len(rows), size, keyed_random.fraction(seed, "start", model))]]


def systematic_sample(length: int, size: int, start: float) -> list[int]:
    """Return every (length / size)-th index of a list, all if there are no more.

    Args:
        start: position in the first step, in [0, 1).
    """
    if size >= length:
        return list(range(length))
    # Rounding may exceed the last index.
    return [min(int((step + start) * length / size), length - 1) for step in range(size)]


def answer_keys(rows: pd.DataFrame) -> Iterable[tuple[str, str, str, int]]:
    """Return (model, task, sample_id, attempt) of each row."""
    columns = (rows[MODEL].astype(str), rows[TASK].astype(str), rows[KEY[0]].astype(str), rows[KEY[1]].astype(int))
    return zip(*columns, strict=True)


def answer_id(model: str, task: str, sample_id: str, attempt: int, candidate: str) -> str:
    """Return the id of an answer on the sheet: 16 hex digits that reveal neither model nor verdict, and depend on the text."""
    text = repr((model, task, sample_id, attempt, candidate))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
