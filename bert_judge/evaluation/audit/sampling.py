"""The order in which the answers of each model are labelled, the probabilities with which they are drawn,
and their labels from the sheets of annotators.

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
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.score_tables import KEY, MODEL, TASK
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import rows

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
# No rate of any design is outside, as their mean is 1 and the ratio of any two is at most that of these bounds.
LOWEST_RATE, HIGHEST_RATE = RATE_BOUNDS[0] / RATE_BOUNDS[1], RATE_BOUNDS[1] / RATE_BOUNDS[0]


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


# --- labels of annotators ---

CORRECT, INCORRECT, CANNOT_TELL = VERDICTS = ("correct", "incorrect", "cannot tell")
TRUTH = {CORRECT: 1.0, INCORRECT: 0.0, CANNOT_TELL: math.nan}
COLUMNS = ("id", "verdict")
# Optional columns: the rate that the answer was drawn with, and the person. A sheet without names is that of one person.
OPTIONAL = ("rate", "annotator")
BATCH_ROWS = 4096
# Value of an answer without label; one that the annotators could not decide is NaN.
UNLABELLED = -1.0
LABEL = "(label)"


class Vote(NamedTuple):
    """What one person says of one answer: 1 for correct, 0 for incorrect, NaN for cannot tell; and the answer's rate, or None."""

    id: str
    annotator: str
    value: float
    rate: float | None


def read_labels(paths: Sequence[Path]) -> list[Vote]:
    """Read sheets, of several rounds or people. Rows without verdict are skipped.

    Raises:
        InputError: a sheet is named twice, not a CSV file, a column is missing, an unknown verdict or rate, an empty id, one that a
            person labelled twice, or no verdict at all.
    """
    for position, path in enumerate(paths):
        if path.resolve() in {earlier.resolve() for earlier in paths[:position]}:
            raise InputError(f"{path}: named twice; name each sheet once")
    positions: dict[tuple[str, str], str] = {}
    votes = [vote for path in paths for vote in _read_sheet(path, positions)]
    if not votes:
        names = ", ".join(map(str, paths))
        raise InputError(f"{names}: no row has a verdict; label some answers, or leave out audit.labels until then")
    return votes


def refuse_filled(sheet: Path) -> None:
    """Refuse to overwrite a sheet that has verdicts.

    Raises:
        InputError: a row of the sheet has a verdict.
    """
    if not sheet.is_file():
        return
    present = rows.open_rows(sheet, "csv")
    if "verdict" not in present.columns:
        return
    if filled := sum(bool(str(record.get("verdict") or "").strip()) for _, record in present.records(["verdict"])):
        raise InputError(
            f"{sheet}: has {filled} verdicts, which the next sheet would overwrite; move it and name it with --labels, or delete it"
        )


def _read_sheet(path: Path, positions: dict[tuple[str, str], str]) -> list[Vote]:
    """Return the votes of a sheet; `positions` collects where the label of each (person, id) was found."""
    sheet = rows.open_rows(path, "csv", needed=COLUMNS)
    if missing := [name for name in COLUMNS if name not in sheet.columns]:
        present = ", ".join(map(repr, sheet.columns))
        raise InputError(f"{path}: no column {missing[0]!r}; available: {present}; save the sheet as CSV with commas")
    votes = []
    columns = [*COLUMNS, *(name for name in OPTIONAL if name in sheet.columns)]
    for position, record in sheet.records(columns):
        cells = {name: " ".join((record.get(name) or "").split()) for name in (*COLUMNS, *OPTIONAL)}
        identity, verdict, annotator = cells["id"], cells["verdict"].casefold(), cells["annotator"] or path.stem
        if not identity:
            raise InputError(f"{path}: {position} has no id; use the original sheet and change only the verdicts")
        if (first := positions.setdefault((annotator, identity), f"{path}, {position}")) != f"{path}, {position}":
            first = first.removeprefix(f"{path}, ")
            raise InputError(f"{path}: the id {identity!r} occurs at {first} and again at {position}; remove one")
        if verdict and verdict not in TRUTH:
            verdicts = ", ".join(VERDICTS)
            raise InputError(f"{path}: {position}: the verdict is {verdict!r:.60}; use {verdicts}, or leave it empty")
        if verdict:
            votes.append(Vote(identity, annotator, TRUTH[verdict], _parse_rate(cells["rate"], f"{path}: {position}")))
    return votes


def _parse_rate(text: str, where: str) -> float | None:
    try:
        rate = float(text) if text else None
    except ValueError:
        rate = math.nan
    if rate is not None and not LOWEST_RATE <= rate <= HIGHEST_RATE:
        limits = f"{LOWEST_RATE:g} to {HIGHEST_RATE:g}"
        raise InputError(f"{where}: the rate is {text!r:.60}, and rates are {limits}; change only the verdicts of the sheet")
    return rate


def attach_labels(
    verdicts: pd.DataFrame, scores: Sequence[Path], *, votes: Sequence[Vote], source: str, needs_rates: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the answers with the column `LABEL`, 1, 0, NaN (cannot tell) or `UNLABELLED`, and the votes per answer and person.

    Several people decide by majority; without one, the label is "cannot tell".

    Args:
        verdicts: all answers with their `RATE`, from `sampling.order_answers`; rates of `votes` replace them.
        scores: their score tables.
        source: the sheets, for messages.
        needs_rates: the design labels some answers with a higher probability.

    Raises:
        InputError: an id belongs to no answer, or a rate is missing.
    """
    if needs_rates and (bare := next((vote for vote in votes if vote.rate is None), None)) is not None:
        raise InputError(
            f"{source}: no rate at the id {bare.id!r}; keep the column 'rate' of the sheet: answers were drawn unequally"
        )
    identities = _identify(verdicts, scores, {vote.id for vote in votes})
    if unknown := {vote.id for vote in votes} - set(identities):
        raise InputError(
            f"{source}: the id {min(unknown)!r} belongs to no answer of this run ({len(unknown)} such rows); "
            "remove rows of other runs and of answers that have changed"
        )
    table = pd.DataFrame(votes, columns=list(Vote._fields)).pivot(index="id", columns="annotator", values="value")
    ids = pd.Series({index: identity for identity, index in identities.items()}, dtype=object).reindex(verdicts.index)
    rates = {vote.id: vote.rate for vote in votes if vote.rate is not None}
    columns: dict[str, Any] = {
        LABEL: ids.map(majority(table)).where(ids.notna(), UNLABELLED),
        RATE: ids.map(rates).astype(float).fillna(verdicts[RATE]),
    }
    labelled_ids = ids.dropna()
    return verdicts.assign(**columns), table.reindex(list(labelled_ids)).set_axis(labelled_ids.index)


def majority(votes: pd.DataFrame) -> pd.Series:
    """Return the label that most annotators (columns) give each answer (row), NaN without a majority."""
    share = votes.mean(axis=1)
    return share.where(share != 0.5).round()


def _identify(verdicts: pd.DataFrame, scores: Sequence[Path], ids: set[str]) -> dict[str, int]:
    """Return id → index of the answer in `verdicts`, of the given ids."""
    schema = tables.scores_schema([])
    schema = replace(schema, columns=tuple(c for c in schema.columns if c.name in (*score_tables.KEY, "candidate")))
    index_of_key = dict(zip(answer_keys(verdicts), verdicts.index, strict=True))
    indices: dict[str, int] = {}
    for path in scores:
        model, task = score_tables.identify_table(path)
        for batch in tables.read_batches(path, schema, BATCH_ROWS):
            for sample_id, attempt, text in zip(batch["sample_id"], batch["attempt"], batch["candidate"], strict=True):
                key = (model, task, str(sample_id), int(attempt))
                if (identity := answer_id(key, text)) in ids:
                    indices[identity] = index_of_key[key]
    return indices


def labels_from_gold(verdicts: pd.DataFrame, sample: pd.DataFrame, gold: str) -> pd.DataFrame:
    """Return the answers with the gold judge's verdicts on the sampled ones as `LABEL`, NaN where it is invalid."""
    labels: Mapping[str, float] = {"correct": 1.0, "incorrect": 0.0}
    sampled: NDArray[np.bool_] = verdicts.index.isin(sample.index)
    return verdicts.assign(**{LABEL: np.where(sampled, verdicts[f"{gold}_verdict"].astype(str).map(labels), UNLABELLED)})
