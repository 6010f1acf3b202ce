"""The order in which the answers of each model are labelled, and the probabilities with which they are drawn.

Every answer has a rate, the factor by which it is more likely to be drawn than the average answer of its model, and a permanent
random number, which it shares with the answers of other models to the same question. Answers are labelled in ascending order of
random number / rate, and a sample of n is the first n of a model: sequential Poisson sampling (Ohlsson 1998, Journal of Official
Statistics 14:149). So

* a larger sample contains the smaller one, and several rounds are one sample;
* a new model changes no other model's sample;
* at equal rates all models are labelled on the same questions, which makes their differences more precise.

Designs (the rates never depend on labels, so any number of rounds has the same probabilities):

* `uniform`: rate 1. The labels serve any judge, also one trained later.
* `stratified`: every range of the judge's scores gets as many labels.
* `neyman`: a range gets labels in proportion to its size times the standard deviation of its labels that the scores predict
  (Neyman 1934; approximate, as in arXiv 2605.10075).
* `active`: the same for each answer on its own: sqrt(score × (1 - score)) (Zrnic and Candès, arXiv 2403.03208).

A floor keeps the labels from missing what an overconfident judge is wrong about, and bounds the weights.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from bert_judge.evaluation.score_tables import KEY, MODEL, TASK
from bert_judge.runtime import keyed_random

Design = Literal["uniform", "stratified", "neyman", "active"]
Floats = NDArray[np.float64]
RATE, POSITION = "(rate)", "(position)"
# Bounds of the ranges of scores: 1 to 4, and 0 for answers without a score (invalid).
SCORE_BOUNDS = (0.1, 0.5, 0.9)
# The first range of scores with the verdict correct.
CORRECT_RANGE = 3
# A range with fewer labels is merged with the next; across the verdicts correct and incorrect only with fewer than the second.
MIN_LABELS, MIN_LABELS_PER_VERDICT = 5, 3
# Smallest predicted standard deviation of a label; the largest is 0.5.
MIN_DEVIATION = 0.15
# Bounds of the rates of a stratified sample, in which a rare range would otherwise be labelled completely.
RATE_BOUNDS = (0.3, 3.0)


def score_ranges(scores: ArrayLike) -> NDArray[np.intp]:
    """Return the range of each score: 1 to 4, and 0 for NaN."""
    score = np.asarray(scores, float)
    return np.where(np.isnan(score), 0, 1 + np.digitize(score, SCORE_BOUNDS))


def sampling_rates(models: ArrayLike, scores: ArrayLike, design: Design) -> Floats:
    """Return the rate of each answer; the mean is 1 in each model.

    Args:
        models: model of each answer, shape (N,).
        scores: of the judge, NaN where there is none, shape (N,).
    """
    frame = pd.DataFrame({"model": pd.factorize(np.asarray(models))[0], "score": np.asarray(scores, float)})
    frame["range"] = score_ranges(frame["score"])
    deviation = (frame["score"] * (1 - frame["score"])).pow(0.5).fillna(0.5).clip(lower=MIN_DEVIATION)
    by_range = [frame["model"], frame["range"]]
    if design == "uniform":
        rates = pd.Series(1.0, frame.index)
    elif design == "stratified":
        sizes = frame.groupby(by_range)["range"].transform("size")
        shares = sizes * frame.groupby("model")["range"].transform("nunique") / frame.groupby("model")["range"].transform("size")
        rates = (1 / shares).clip(*RATE_BOUNDS)
    elif design == "neyman":
        rates = (deviation**2).groupby(by_range).transform("mean").pow(0.5)
    else:
        rates = deviation
    return (rates / rates.groupby(frame["model"]).transform("mean")).to_numpy(float)


def inclusion_probabilities(models: ArrayLike, rates: ArrayLike, labelled: ArrayLike) -> Floats:
    """Return the probability that each labelled answer was drawn, from the number of labels of its model; 1 for the others.

    It is min(1, c × rate); c is chosen so that the labels, weighted with 1 / probability, stand for all answers of the model.

    Args:
        models: model of each answer, shape (N,).
        rates: of the labelled answers; other entries do not count, shape (N,).
        labelled: booleans, shape (N,).
    """
    model, has_label = pd.factorize(np.asarray(models))[0], np.asarray(labelled, bool)
    rate, probabilities = np.asarray(rates, float), np.ones(len(model))
    for code in np.unique(model[has_label]):
        rows, size = has_label & (model == code), int((model == code).sum())
        inverse = 1 / rate[rows]
        count = int(rows.sum())
        if count >= size:
            continue
        # At the smallest factor the labels stand for too many answers, at the largest only for themselves.
        bounds = (inverse.sum() / size / 2, inverse.max())
        factor = optimize.brentq(lambda c, inverse=inverse, size=size: np.maximum(inverse / c, 1).sum() - size, *bounds)
        probabilities[rows] = np.minimum(1.0, factor * rate[rows])
    return probabilities


def assign_strata(models: ArrayLike, scores: ArrayLike, labelled: ArrayLike) -> NDArray[np.intp]:
    """Assign a stratum to each answer: a model's answers in a range of scores, merged until each has enough labels.

    Args:
        models: model of each answer, shape (N,).
        scores: of the judge that the sample was drawn by, NaN where there is none, shape (N,).
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


def order_answers(verdicts: pd.DataFrame, judge: str, design: Design, seed: int) -> pd.DataFrame:
    """Return the answers of all models in the order in which they are labelled, with their `RATE` and `POSITION`.

    Args:
        verdicts: from `score_tables.load_verdicts`.
        judge: the judge whose scores the rates depend on.
    """
    rates = sampling_rates(verdicts[MODEL], verdicts[judge], design)
    numbers = np.array([keyed_random.fraction(seed, "question", *question) for _, *question in answer_keys(verdicts)])
    # The answers to a question follow each other in random order, which does not reveal the model.
    order = [keyed_random.fraction(seed, "answer", *key) for key in answer_keys(verdicts)]
    columns: dict[str, Any] = {RATE: rates, POSITION: numbers / rates, "(order)": order}
    return verdicts.assign(**columns).sort_values([POSITION, "(order)"])


def draw_sample(ordered: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return the first `size` of the ordered answers of each model, all if there are fewer."""
    return ordered.groupby(MODEL, observed=True, sort=False).head(size)


def answer_keys(rows: pd.DataFrame) -> Iterable[tuple[str, str, str, int]]:
    """Return (model, task, sample_id, attempt) of each row."""
    columns = (rows[MODEL].astype(str), rows[TASK].astype(str), rows[KEY[0]].astype(str), rows[KEY[1]].astype(int))
    return zip(*columns, strict=True)


def answer_id(key: tuple[str, str, str, int], candidate: str) -> str:
    """Return the id of an answer on the sheet: 16 hex digits that reveal neither model nor verdict, and depend on the text."""
    text = repr((*key, candidate))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
