"""Accuracies, and differences between models, corrected with the labels of a sample, and whether the labels suffice."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.audit import ppi, sampling
from bert_judge.evaluation.audit.certificate import certificate_table, read_attack_rates
from bert_judge.evaluation.audit.sampling import LABEL, POSITION, RATE
from bert_judge.evaluation.model_comparison import mark_significant
from bert_judge.evaluation.score_tables import KEY, MODEL, TASK, load_verdicts
from bert_judge.evaluation.standings import estimate_accuracy
from bert_judge.statistics.bootstrap import CONFIDENCE

METHODS = ("human_labels", "ppi")
# Fewer labels of a model are too few to forecast how many more it takes.
MIN_FORECAST_LABELS = 10
NO_SEQUENCE = {"sequence_low": math.nan, "sequence_high": math.nan}
NO_FORECAST = {"state": None, "labels_needed": None}
# The tables that `build_corrected` writes, each as {name}.parquet.
SCHEMAS = {schema.name: schema for schema in (tables.CORRECTED_ACCURACY, tables.CORRECTED_PAIRS, tables.CERTIFICATE)}
log = logging.getLogger(__name__)


def build_corrected(
    spec: Mapping[str, Any],
    *,
    scores: Sequence[Path],
    sheets: Sequence[Path],
    folder: Path,
    attacks: Path | None = None,
    num_seen: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Write the tables of `SCHEMAS` from the score tables.

    Args:
        spec: `Plan.corrected_spec`.
        sheets: the annotators' sheets; none to use the verdicts of the judge `labels_from` on the sampled answers.
        attacks: rates of `build_rates`, if judges were attacked.
        num_seen: see `certificate_table`.
    """
    gold = spec["labels_from"]
    verdicts = load_verdicts(scores, [*spec["judges"], *([gold] if gold else [])])
    ordered = sampling.order_answers(verdicts, spec["judge"], spec["design"], spec["seed"])
    votes = None
    if sheets:
        names = ", ".join(map(str, sheets))
        ordered, votes = sampling.attach_labels(
            ordered, scores, votes=sampling.read_labels(sheets), source=names, needs_rates=spec["design"] != "uniform"
        )
    else:
        ordered = sampling.labels_from_gold(ordered, sampling.draw_sample(ordered, spec["size"]), gold)
    frames = {
        "corrected_accuracy": corrected_table(ordered, spec),
        "corrected_pairs": corrected_pairs_table(ordered, spec),
        "certificate": certificate_table(ordered, votes, spec, {} if attacks is None else read_attack_rates(attacks), num_seen),
    }
    for name, schema in SCHEMAS.items():
        tables.write(frames[name], folder / f"{name}.parquet", schema, spec, revisions=tables.merge_revisions(scores))
    log.info("%s: %d labels on %d answers", folder, int((ordered[LABEL] >= 0).sum()), len(ordered))


def corrected_table(answers: pd.DataFrame, spec: Mapping[str, Any]) -> pd.DataFrame:
    """Estimate accuracies per group, judge and method, in the schema `tables.CORRECTED_ACCURACY`.

    The group of all models leaves out models with too few labels, whose answers are not represented by any.

    Args:
        answers: from `sampling.order_answers`, with `LABEL`.
        spec: `judge`, the sampling judge, whose scores the sample was drawn by, and `judges`.
    """
    represented = (answers[LABEL] >= 0).groupby(answers[MODEL]).transform("sum") >= ppi.MIN_LABELS
    by_model = [("model", str(name), rows) for name, rows in answers.groupby(MODEL, sort=True)]
    rows = [
        {"level": level, "model": model, "judge": judge, **row}
        for level, model, group in [("all", "all", answers[represented]), *by_model]
        for judge in spec["judges"]
        for row in _accuracy_rows(group, judge, spec["judge"], level == "model")
    ]
    return pd.DataFrame(rows, columns=tables.CORRECTED_ACCURACY.names)


def _accuracy_rows(answers: pd.DataFrame, judge: str, sampling_judge: str, is_model: bool) -> Iterator[dict[str, Any]]:
    labels = answers[LABEL].to_numpy(float)
    uncorrected = estimate_accuracy(answers, judge)
    counts = {
        "answers": len(answers),
        "questions": uncorrected["questions"],
        "labels": int((labels >= 0).sum()),
        "unclear": int(np.isnan(labels).sum()),
        "invalid": uncorrected["invalid"],
    }
    yield {**counts, "method": "judge", **{name: uncorrected[name] for name in ("accuracy", "low", "high")}, **NO_SEQUENCE}
    for method, estimate in estimate_methods(answers, judge, sampling_judge).items():
        bounds = accuracy_sequence(answers, judge) if method == "ppi" and is_model else NO_SEQUENCE
        yield {**counts, "method": method, **ppi.interval_of(estimate).columns("accuracy"), **bounds}


def estimate_methods(answers: pd.DataFrame, judge: str, sampling_judge: str) -> dict[str, ppi.Estimate | None]:
    """Estimate the accuracy over some answers, as in `corrected_table`, by correcting a judge with each of `METHODS`."""
    labels, model = answers[LABEL].to_numpy(float), answers[MODEL].astype(str).to_numpy()
    truth = np.where(labels >= 0, labels, np.nan)
    labelled, question = labels >= 0, answers["sample_id"].to_numpy()
    probabilities = sampling.inclusion_probabilities(model, answers[RATE], labelled)
    strata = sampling.assign_strata(model, answers[sampling_judge], labelled)
    predictions = ppi.impute_scores(answers[judge], model)
    return {
        "human_labels": ppi.prediction_powered(
            predictions, truth, clusters=question, strata=model, probabilities=probabilities, weight=0.0
        ),
        "ppi": ppi.prediction_powered(predictions, truth, clusters=question, strata=strata, probabilities=probabilities),
    }


def accuracy_sequence(answers: pd.DataFrame, judge: str) -> dict[str, float]:
    """Return the bounds of the confidence sequence of one model's accuracy, after all of its labels."""
    values, low, high = label_values_of(answers, judge)
    ends = ppi.confidence_sequence(values, value_bounds=(low, high), mean_bounds=(0.0, 1.0)) if len(values) else None
    return NO_SEQUENCE if ends is None else {"sequence_low": float(ends[0][-1]), "sequence_high": float(ends[1][-1])}


def label_values_of(answers: pd.DataFrame, judge: str) -> tuple[NDArray[np.float64], float, float]:
    """Return `ppi.label_values` of one model's answers, in the order of their labels."""
    ordered = answers.iloc[np.lexsort((answers[POSITION], ~(answers[LABEL] >= 0)))]
    num_labels = int((ordered[LABEL] >= 0).sum())
    predictions = ppi.impute_scores(ordered[judge], ordered[MODEL].astype(str))
    truth = ordered[LABEL].to_numpy(float)[:num_labels]
    return ppi.label_values(predictions, truth, ordered[RATE].to_numpy(float))


def corrected_pairs_table(answers: pd.DataFrame, spec: Mapping[str, Any]) -> pd.DataFrame:
    """Compare every two models with labels per judge and method, the better one first, in the schema `tables.CORRECTED_PAIRS`.

    Over the answers (question and attempt) that both gave. All pairs of a judge and method are one family for Holm's adjustment,
    and for the confidence sequences, whose level is divided by their number.
    """
    counts = (answers[LABEL] >= 0).groupby(answers[MODEL].astype(str)).sum()
    by_model = {str(name): rows for name, rows in answers.groupby(answers[MODEL].astype(str), sort=True) if counts[name] >= 2}
    pairs = list(combinations(by_model, 2))
    rows: list[dict[str, Any]] = []
    for judge in spec["judges"]:
        compared = [
            compare_models(by_model[a], by_model[b], judge=judge, sampling_judge=spec["judge"], num_pairs=len(pairs))
            for a, b in pairs
        ]
        for method in METHODS:
            for row in mark_significant([comparison[method] for comparison in compared]):
                if row["state"] == "settled" and not row["significant"]:
                    # The labels show who is better on these answers, but the answers are too few to tell about others.
                    row |= {"state": "tie", "labels_needed": None}
                rows.append({**row, "judge": judge, "method": method})
    return pd.DataFrame(rows, columns=tables.CORRECTED_PAIRS.names).astype({"labels_needed": "Int64"})


def compare_models(
    first: pd.DataFrame, second: pd.DataFrame, *, judge: str, sampling_judge: str, num_pairs: int = 1
) -> dict[str, dict[str, Any]]:
    """Compare two models on the answers that both gave: method → columns of `tables.CORRECTED_PAIRS`, the better model first.

    `num_pairs`: comparisons among which the error of the confidence sequences is divided.
    """
    keys = [pd.MultiIndex.from_frame(rows[[TASK, *KEY]].astype({TASK: str, "sample_id": str})) for rows in (first, second)]
    shared = [first[keys[0].isin(keys[1])], second[keys[1].isin(keys[0])]]
    names = [str(rows[MODEL].iloc[0]) for rows in (first, second)]
    estimates = [estimate_methods(rows, judge, sampling_judge) if len(rows) else dict.fromkeys(METHODS) for rows in shared]
    num_labels = min(int((rows[LABEL] >= 0).sum()) for rows in shared)
    # What people could not decide has no label, and gets none.
    max_labels = min(int(rows[LABEL].notna().sum()) for rows in shared)
    counts = {"n": len(shared[0]), "questions": shared[0]["sample_id"].nunique(), "labels": num_labels}
    alpha = (1 - CONFIDENCE) / num_pairs
    bounds, values = _difference_sequence(shared[0], shared[1], judge, alpha)
    compared = {}
    for method in METHODS:
        sides = [estimate[method] for estimate in estimates]
        swapped = sides[0] is not None and sides[1] is not None and sides[0].value < sides[1].value
        better, worse = sides[::-1] if swapped else sides
        difference = None if better is None or worse is None else better - worse
        low, high = (-bounds[1], -bounds[0]) if swapped else bounds
        sequence = {"sequence_low": low, "sequence_high": high} if method == "ppi" else NO_SEQUENCE
        interval = ppi.interval_of(difference)
        forecast = (
            _forecast(interval.value, low=low, values=values, max_labels=max_labels, alpha=alpha)
            if method == "ppi"
            else NO_FORECAST
        )
        compared[method] = {
            "model": names[swapped],
            "other": names[not swapped],
            **counts,
            **interval.columns("difference"),
            "p_value": math.nan if difference is None else difference.p_value(),
            "min_detectable_effect": math.nan if difference is None else difference.min_detectable(),
            **sequence,
            **forecast,
        }
    return compared


def _difference_sequence(
    first: pd.DataFrame, second: pd.DataFrame, judge: str, alpha: float
) -> tuple[tuple[float, float], NDArray[np.float64]]:
    """Return the bounds of the confidence sequence of the difference, and its values, one per pair of labels of both models."""
    if not min((rows[LABEL] >= 0).sum() for rows in (first, second)):
        return (math.nan, math.nan), np.zeros(0)
    (a, a_low, a_high), (b, b_low, b_high) = (label_values_of(rows, judge) for rows in (first, second))
    size = min(len(a), len(b))
    values = a[:size] - b[:size]
    bounds = {"value_bounds": (a_low - b_high, a_high - b_low), "mean_bounds": (-1.0, 1.0)}
    low, high = ppi.confidence_sequence(values, **bounds, alpha=alpha)
    return (float(low[-1]), float(high[-1])), values


def _forecast(difference: float, *, low: float, values: NDArray[np.float64], max_labels: int, alpha: float) -> dict[str, Any]:
    """Return whether the labels settle a difference of at least 0, and how many more per model are expected to.

    Args:
        low: lower end of its confidence sequence.
        values, alpha: see `_difference_sequence`.
        max_labels: labels per model that the answers can have, on which both models can be compared.
    """
    if math.isnan(difference) or math.isnan(low):
        return {"state": "unknown", "labels_needed": None}
    if low > 0:
        return {"state": "settled", "labels_needed": 0}
    if len(values) == max_labels:
        return {"state": "tie", "labels_needed": None}
    if len(values) < MIN_FORECAST_LABELS:
        return {"state": "open", "labels_needed": None}
    needed = ppi.expected_labels(values, difference, alpha) if difference else math.inf
    if needed > max_labels:
        return {"state": "tie", "labels_needed": None}
    # Of few labels the bets stay below the best ones, and the forecast is passed already.
    return {"state": "open", "labels_needed": needed - len(values) if needed > len(values) else None}


def is_settled(pairs: pd.DataFrame) -> bool:
    """Return whether more labels would change no difference between models, from the rows of one judge."""
    rows = pairs[pairs["method"] == "ppi"]
    return len(rows) > 0 and bool((rows["state"] == "settled").all())


def next_steps(pairs: pd.DataFrame) -> list[str]:
    """Say for each pair of neighbours in the ranking, from the rows of one judge, whether and how many more labels are needed."""
    rows = pairs[pairs["method"] == "ppi"]
    if is_settled(pairs):
        return [f"Stop: every difference between models is settled ({len(rows)} of {len(rows)})."]
    wins = rows["model"].value_counts()
    ranked = sorted({*rows["model"], *rows["other"]}, key=lambda model: (-wins.get(model, 0), model))
    by_pair = {frozenset((row["model"], row["other"])): row for row in rows.to_dict("records")}
    return [_next_step(by_pair[pair]) for a, b in pairwise(ranked) if (pair := frozenset((a, b))) in by_pair]


def _next_step(row: Mapping[Any, Any]) -> str:
    pair = f"{row['model']} {'>' if row['difference'] else '='} {row['other']}"
    if row["state"] == "settled":
        return f"{pair} is settled: stop."
    if row["state"] == "tie" and row["labels"] >= row["n"]:
        return f"{pair}: all {row['n']:,} answers are labelled, and {_describe_tie(row)}; use more questions."
    if row["state"] == "tie":
        return f"{pair}: labels on all {row['n']:,} answers are not expected to settle it; use more questions."
    if pd.isna(row["labels_needed"]):
        return f"{pair}: too few labels to tell how many more it takes."
    significant = ", which is significant if the number of labels was fixed in advance" if row["significant"] else ""
    count = int(row["labels_needed"])
    labels = "1 more label per model is" if count == 1 else f"{count:,} more labels per model are"
    return f"{labels} expected to settle {pair}{significant}."


def _describe_tie(row: Mapping[Any, Any]) -> str:
    """Say what labels on all answers show of a pair that they do not settle."""
    if not row["difference"]:
        return "there is no difference on them"
    if row["significant"]:
        return "the difference is significant if their number was fixed in advance, but not at any time"
    if row["low"] > 0:
        return "the interval of the difference excludes 0, but not after the correction for several comparisons (Holm)"
    return "too few to settle it"
