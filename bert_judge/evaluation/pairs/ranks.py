"""The ranks stage: agreement of pairwise judges, models ranked by Bradley-Terry strength, and rank correlations."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.pairs import bradley_terry
from bert_judge.evaluation.pairs.agreement import measure_agreement
from bert_judge.evaluation.pairs.bradley_terry import Comparisons
from bert_judge.evaluation.pairs.pair_tables import LENGTH_A, LENGTH_B, PEOPLE, POINTS, group_by_task, load_pairs
from bert_judge.evaluation.score_tables import MODEL, TASK, load_verdicts
from bert_judge.statistics.bootstrap import Floats, QuestionBootstrap, percentile_bounds, ratio
from bert_judge.statistics.intervals import rank_correlation_interval, rank_lines

# The tables that `build_ranks` writes, each as {name}.parquet.
SCHEMAS = {schema.name: schema for schema in (tables.PAIR_AGREEMENT, tables.RANKS, tables.RANK_CORRELATIONS)}
INTEGER_COLUMNS = ["n", "questions", "won", "tied", "rank", "rank_low", "rank_high"]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ranking:
    """The models of some pairs, ranked by one judge.

    Attributes:
        models: names, sorted.
        strengths: in each resample, shape (1 + resamples, models); None if not all models are connected by pairs.
        rows: of the table of ranks, best model first.
    """

    models: list[str]
    strengths: Floats | None
    rows: list[dict[str, Any]]


def build_ranks(
    spec: Mapping[str, Any],
    pairs: Mapping[str, Sequence[Path]],
    preferences: Mapping[str, Mapping[str, Path]],
    scores: Sequence[Path],
    folder: Path,
) -> None:
    """Write the tables of `SCHEMAS`.

    Args:
        spec: `Plan.ranks_spec`: `sets` with the judges of each, and `judges` of single answers.
        pairs: set → its tables of pairs.
        preferences: set → judge → its verdicts on the set.
        scores: score tables; rankings are compared with accuracies on the tasks of a set.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    answers = load_verdicts(scores, spec["judges"])
    for name, judges in spec["sets"].items():
        frame = load_pairs(pairs[name], preferences[name])
        rows["pair_agreement"] += [{"set": name, **row} for row in measure_agreement(frame, judges)]
        for (level, task), subset in group_by_task(frame):
            group = {"set": name, "level": level, "task": task}
            task_answers = answers[answers[TASK].isin(subset["task"].unique())]
            # One bootstrap for both, so that correlations are between the same resamples of the questions.
            bootstrap = QuestionBootstrap.over([*subset["sample_id"], *task_answers["sample_id"]])
            rankings = rank_models(subset, judges, bootstrap.select(slice(0, len(subset))))
            rows["ranks"] += [{**group, "judge": judge, **row} for judge, ranking in rankings.items() for row in ranking.rows]
            accuracies = _resample_accuracies(task_answers, spec["judges"], bootstrap.select(slice(len(subset), None)))
            correlations = correlate_rankings(rankings, accuracies)
            rows["rank_correlations"] += [{**group, **row, "questions": bootstrap.questions} for row in correlations]
        log.info("%s: %d pairs, %d judges", name, len(frame), len(judges))
    for name, schema in SCHEMAS.items():
        table = pd.DataFrame(rows[name], columns=schema.names)
        integers = {column: "Int64" for column in INTEGER_COLUMNS if column in schema.names}
        tables.write(table.astype(integers), folder / f"{name}.parquet", schema, spec)


def _resample_accuracies(
    frame: pd.DataFrame, judges: Sequence[str], bootstrap: QuestionBootstrap
) -> dict[str, tuple[list[str], Floats]]:
    """Return judge → models and their accuracies, shape (1 + resamples, models)."""
    if frame.empty:
        return {}
    codes, models = pd.factorize(frame[MODEL], sort=True)
    totals = {
        judge: bootstrap.totals(frame[f"{judge}_verdict"] == "correct", codes.astype(np.intp), len(models)) for judge in judges
    }
    answers = bootstrap.totals(np.ones(len(frame)), codes.astype(np.intp), len(models))
    return {judge: (list(models), ratio(correct, answers)) for judge, correct in totals.items()}


def rank_models(frame: pd.DataFrame, judges: Sequence[str], bootstrap: QuestionBootstrap) -> dict[str, Ranking]:
    """Rank the models by each judge, and by the labels (`PEOPLE`, last); judges without pairs of named models are left out.

    `frame`: from `pair_tables.load_pairs`, or a part of it.
    """
    verdicts = {judge: frame[f"{judge}_verdict"] for judge in judges} | {PEOPLE: frame["label"]}
    rankings = {judge: _rank(frame, judge_verdicts, bootstrap) for judge, judge_verdicts in verdicts.items()}
    return {judge: ranking for judge, ranking in rankings.items() if ranking is not None}


def _rank(frame: pd.DataFrame, verdicts: pd.Series, bootstrap: QuestionBootstrap) -> Ranking | None:
    points = verdicts.map(POINTS).astype(float)
    named = frame["model_a"].notna() & frame["model_b"].notna() & (frame["model_a"] != frame["model_b"])
    usable = (points.notna() & named).to_numpy(dtype=bool)
    if not usable.any():
        return None
    rows, bootstrap = frame[usable], bootstrap.select(usable)
    comparisons = Comparisons.build(rows["model_a"], rows["model_b"], points[usable], rows[LENGTH_A] - rows[LENGTH_B])
    columns: dict[str, Floats] = _with_bounds("win_rate", bradley_terry.win_rates(comparisons, bootstrap))
    strengths, reason = None, comparisons.disconnected
    if reason is None:
        strengths = bradley_terry.fit_strengths(comparisons, bootstrap)
        length_controlled = bradley_terry.fit_strengths(comparisons, bootstrap, length_controlled=True)
        columns |= _with_bounds("strength", strengths)
        columns |= _with_bounds("expected_win_rate", bradley_terry.expected_win_rates(strengths))
        columns |= _with_bounds("lc_win_rate", bradley_terry.predicted_win_rates(length_controlled, comparisons, bootstrap))
        columns |= _with_bounds("rank", rank_lines(strengths))
    counts = _count_results(rows, np.asarray(points[usable], dtype=np.float64), comparisons.models)
    model_rows = [
        {"model": model, **counts[index], **{name: values[index] for name, values in columns.items()}, "reason": reason}
        for index, model in enumerate(comparisons.models)
    ]
    order = {row["model"]: row.get("rank", -row["win_rate"]) for row in model_rows}
    return Ranking(comparisons.models, strengths, sorted(model_rows, key=lambda row: (order[row["model"]], row["model"])))


def _with_bounds(name: str, resampled: Floats) -> dict[str, Floats]:
    """Return the observed values and the bounds of their intervals, each of shape (models,)."""
    low, high = percentile_bounds(resampled, method="inverted_cdf")
    return {name: resampled[0], f"{name}_low": low, f"{name}_high": high}


def _count_results(rows: pd.DataFrame, points: Floats, models: Sequence[str]) -> list[dict[str, Any]]:
    sides = [(rows["model_a"], points), (rows["model_b"], 1 - points)]
    results = pd.concat([pd.DataFrame({"model": m, "points": p, "sample_id": rows["sample_id"]}) for m, p in sides])
    by_model = results.groupby("model")
    n, questions = by_model.size(), by_model["sample_id"].nunique()
    won, tied = (results[results["points"] == value].groupby("model").size() for value in (1.0, 0.5))
    return [{"n": n[m], "questions": questions[m], "won": won.get(m, 0), "tied": tied.get(m, 0)} for m in models]


def correlate_rankings(
    rankings: Mapping[str, Ranking], accuracies: Mapping[str, tuple[list[str], Floats]]
) -> Iterator[dict[str, Any]]:
    """Correlate each judge's ranking with the annotators' and with the rankings by accuracy.

    Args:
        rankings: judge → ranking, all from the same bootstrap.
        accuracies: judge of single answers → models, and their accuracies in the same resamples.
    """
    people = rankings.get(PEOPLE)
    for judge, ranking in rankings.items():
        if ranking.strengths is None:
            continue
        rankings_by_name: dict[str, tuple[str, list[str], Floats | None]] = {}
        if people and judge != PEOPLE:
            rankings_by_name[PEOPLE] = ("pairs", people.models, people.strengths)
        rankings_by_name |= {name: ("answers", models, values) for name, (models, values) in accuracies.items()}
        for name, (basis, models, values) in rankings_by_name.items():
            if values is not None:
                correlation = _correlate(ranking.models, ranking.strengths, models, values)
                yield {"judge": judge, "other": name, "by": basis, **correlation}


def _correlate(models: list[str], strengths: Floats, other_models: list[str], values: Floats) -> dict[str, Any]:
    shared = [m for m in models if m in other_models and not np.isnan(values[0, other_models.index(m)])]
    tau = rank_correlation_interval(
        strengths[:, [models.index(m) for m in shared]], values[:, [other_models.index(m) for m in shared]]
    )
    return {"models": len(shared), **tau.columns("rank_correlation")}
