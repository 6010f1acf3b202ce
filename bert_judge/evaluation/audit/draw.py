"""Which answers people are asked about.

Of every model, `size` answers are drawn systematically from the list of its answers, sorted by the range that the judge's score
is in (`RANGES`) and by task: every (N / size)-th, from a start that the seed decides. So the draw holds every range and every
task in its true share, and every answer of a model has the same chance. Therefore the labels serve any judge, also one that is
trained later, and any part of a draw that is chosen without looking at the answers, such as the first half of a sheet, is a
sample too.

Models are drawn one by one: a new model changes no other's draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bert_judge.evaluation.matrix import MODEL, TASK
from bert_judge.evaluation.scores import KEY
from bert_judge.runtime import keyed_random

# Where the ranges of scores end: surely wrong, wrong, right, surely right. What has no score (invalid) is a range before them.
RANGES = (0.1, 0.5, 0.9)
# The range with which right answers begin.
MIDDLE = 3
# Ranges with fewer labels are joined with the next; right and wrong ones stay apart with fewer.
FEWEST, FEWEST_APART = 5, 3


def ranges(scores: ArrayLike) -> NDArray[np.intp]:
    """The range that each score is in: 1 to 4, and 0 without a score."""
    score = np.asarray(scores, float)
    return np.where(np.isnan(score), 0, 1 + np.digitize(score, RANGES))


def strata(models: ArrayLike, scores: ArrayLike, labelled: ArrayLike) -> NDArray[np.intp]:
    """The groups that the labels speak for, a number per answer: a model's answers in one range of scores.

    Neighbouring ranges of a model are joined until each group has labels enough to tell its own spread.

    Args:
        models: the model of each answer, shape (N,).
        scores: of the judge that ordered the draw, NaN where there is none.
        labelled: which answers are labelled, booleans.
    """
    model = pd.factorize(np.asarray(models))[0]
    level, known = ranges(scores), np.asarray(labelled, bool)
    groups = len(RANGES) + 2
    found = np.zeros(len(model), np.intp)
    for number in range(model.max(initial=-1) + 1):
        rows = model == number
        found[rows] = number * groups + _joined(np.bincount(level[rows & known], minlength=groups))[level[rows]]
    return found


def _joined(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The group of each range of one model, from the labels in the ranges."""
    group, held, groups = 0, 0, np.zeros(len(labels), np.intp)
    for place, count in enumerate(labels):
        enough = FEWEST_APART if place == MIDDLE else FEWEST
        rest = labels[place:MIDDLE] if place < MIDDLE else labels[place:]
        if held >= enough and rest.sum() >= enough:
            group, held = group + 1, 0
        groups[place], held = group, held + count
    return groups


def drawn(verdicts: pd.DataFrame, judge: str, size: int, seed: int) -> pd.DataFrame:
    """The drawn rows, `size` per model or all when there are fewer, in a drawn order over all models.

    Args:
        verdicts: as `standings.load_verdicts` gives it.
        judge: whose scores order the answers.
        seed: another seed, another draw.
    """
    parts = [_of_model(part, str(model), judge, size, seed) for model, part in verdicts.groupby(MODEL, sort=True, observed=True)]
    if not parts:
        return verdicts
    chosen = pd.concat(parts)
    order = [keyed_random.fraction(seed, "order", *key) for key in keys(chosen)]
    return chosen.iloc[np.argsort(order)].reset_index(drop=True)


def _of_model(rows: pd.DataFrame, model: str, judge: str, size: int, seed: int) -> pd.DataFrame:
    # Where many scores are equal, the hash decides.
    lot = np.array([keyed_random.fraction(seed, "tie", *key) for key in keys(rows)])
    order = np.lexsort((lot, pd.factorize(rows[TASK], sort=True)[0], ranges(rows[judge])))
    return rows.iloc[order[places(len(rows), size, keyed_random.fraction(seed, "start", model))]]


def places(count: int, wanted: int, start: float) -> list[int]:
    """Every (count / wanted)-th place of a list, all of them when no more are there.

    Args:
        count: length of the list.
        wanted: how many places.
        start: where in the first step, in [0, 1).
    """
    if wanted >= count:
        return list(range(count))
    # Rounding may lead past the end.
    return [min(int((number + start) * count / wanted), count - 1) for number in range(wanted)]


def keys(rows: pd.DataFrame) -> Iterable[tuple[str, str, str, int]]:
    """(model, task, sample_id, attempt) of each row."""
    columns = (rows[MODEL].astype(str), rows[TASK].astype(str), rows[KEY[0]].astype(str), rows[KEY[1]].astype(int))
    return zip(*columns, strict=True)


def identity(model: str, task: str, sample_id: str, attempt: int, candidate: str) -> str:
    """What stands for an answer on the sheet: 16 hex digits. They tell neither the model nor a verdict, and an answer that was made
    anew with other words has others."""
    text = repr((model, task, sample_id, attempt, candidate))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
