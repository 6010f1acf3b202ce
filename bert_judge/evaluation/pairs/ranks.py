"""The ranks stage: agreement of pairwise judges, models ranked by Bradley-Terry strength, and rank correlations.

P(i beats j) = 1 / (1 + exp(s_j - s_i)) (Bradley and Terry 1952), a tie being half a point for either: a logistic regression without
intercept. With the difference of answer lengths as another feature it is the regression of length-controlled AlpacaEval (Dubois et
al. 2024, arXiv 2404.04475), without its term for the difficulty of a question.

A model that won or lost all its pairs has no finite maximum-likelihood strength, so every coefficient has a normal prior of mean 0
and standard deviation `PRIOR_SD`: negligible with more than a few pairs, and such a model wins about 99%.

Intervals are from the one-step bootstrap (Moulton and Zeger 1991, Computational Statistics and Data Analysis 11:53): each resample
of the questions moves the coefficients by one Newton step from the fit. The variance is that of the cluster-robust sandwich, at
the cost of a small linear system instead of a fit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from bert_judge import tables
from bert_judge.evaluation.pairs.agreement import LENGTH_A, LENGTH_B, PEOPLE, POINTS, group_by_task, load_pairs, measure_agreement
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
    *,
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

    `frame`: from `agreement.load_pairs`, or a part of it.
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
    columns: dict[str, Floats] = _with_bounds("win_rate", win_rates(comparisons, bootstrap))
    strengths, reason = None, comparisons.disconnected
    if reason is None:
        strengths = fit_strengths(comparisons, bootstrap)
        length_controlled = fit_strengths(comparisons, bootstrap, length_controlled=True)
        columns |= _with_bounds("strength", strengths)
        columns |= _with_bounds("expected_win_rate", expected_win_rates(strengths))
        columns |= _with_bounds("lc_win_rate", predicted_win_rates(length_controlled, comparisons, bootstrap))
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


# --- Bradley-Terry ---

PRIOR_SD = 10.0


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """Results of pairwise comparisons.

    Attributes:
        models: names, sorted.
        pairs: every two models as indices (first, second), first < second, shape (pairs, 2).
        pair: index of the pair that each row compares, shape (rows,).
        points: of the first model: 1, ½ or 0, shape (rows,).
        length_difference: of the first and the second model's answer, scaled to (-1, 1), shape (rows,).
    """

    models: list[str]
    pairs: NDArray[np.intp]
    pair: NDArray[np.intp]
    points: Floats
    length_difference: Floats

    @classmethod
    def build(cls, model_a: ArrayLike, model_b: ArrayLike, points: ArrayLike, length_difference: ArrayLike) -> Comparisons:
        """Build comparisons of two different models each.

        Args:
            model_a, model_b: names, shape (rows,).
            points: of A: 1, ½ or 0, shape (rows,).
            length_difference: characters of A's answer minus those of B's, shape (rows,).
        """
        names_a, names_b = np.asarray(model_a, dtype=object), np.asarray(model_b, dtype=object)
        models = sorted({*names_a, *names_b})
        a, b = (pd.Index(models).get_indexer(pd.Index(names)) for names in (names_a, names_b))
        pairs = np.array(list(combinations(range(len(models)), 2)), dtype=np.intp).reshape(-1, 2)
        pair_index = np.zeros((len(models), len(models)), dtype=np.intp)
        pair_index[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        a_first, a_points, lengths = a < b, np.asarray(points, dtype=float), scale_length(length_difference)
        return cls(
            models=models,
            pairs=pairs,
            pair=pair_index[np.minimum(a, b), np.maximum(a, b)],
            points=np.where(a_first, a_points, 1 - a_points),
            length_difference=np.where(a_first, lengths, -lengths),
        )

    @property
    def contrasts(self) -> Floats:
        """+1 for the first and -1 for the second model of each pair, shape (pairs, models)."""
        identity = np.eye(len(self.models))
        return identity[self.pairs[:, 0]] - identity[self.pairs[:, 1]]

    @property
    def disconnected(self) -> str | None:
        """Groups of models that were never compared with each other, as an error message; None if all models are connected."""
        compared = self.pairs[np.unique(self.pair)]
        graph = coo_array((np.ones(len(compared)), (compared[:, 0], compared[:, 1])), shape=(len(self.models),) * 2)
        num_groups, group = connected_components(graph, directed=False)
        if num_groups < 2:
            return None
        members = [", ".join(m for m, at in zip(self.models, group, strict=True) if at == index) for index in range(num_groups)]
        return f"never compared with each other: {' | '.join(members)}; ask for pairs between them"


def scale_length(difference: ArrayLike) -> Floats:
    """Scale differences of lengths as AlpacaEval does: tanh of the standardised difference; 0 if all are equal."""
    values = np.asarray(difference, dtype=float)
    scale = np.sqrt(np.mean(values**2)) if len(values) else 0.0
    return np.tanh(values / scale) if scale > 0 else np.zeros(len(values))


def fit_strengths(comparisons: Comparisons, bootstrap: QuestionBootstrap, length_controlled: bool = False) -> Floats:
    """Fit strengths in log odds with mean 0, as observed (line 0) and in each resample: shape (1 + resamples, models).

    `length_controlled`: add the length difference as a feature, so that strengths are for answers of equal length.
    """
    # Imported here: most users of this module need no regression.
    from sklearn.linear_model import LogisticRegression

    pair, points = comparisons.pair, comparisons.points
    contrasts, length = comparisons.contrasts, comparisons.length_difference if length_controlled else np.zeros(len(pair))
    design = np.column_stack([contrasts[pair], length])
    regression = LogisticRegression(C=PRIOR_SD**2, fit_intercept=False, solver="lbfgs", tol=1e-6, max_iter=1000)
    wins = np.repeat([1, 0], len(design))
    regression.fit(np.vstack([design, design]), wins, sample_weight=np.concatenate([points, 1 - points]))
    coefficients = np.asarray(regression.coef_[0], dtype=float)
    probability = expit(design @ coefficients)
    gradient = bootstrap.totals((points - probability)[:, None] * design) - coefficients / PRIOR_SD**2
    hessian = _hessian(contrasts, pair=pair, variance=probability * (1 - probability), length=length, bootstrap=bootstrap)
    # The step of line 0 is the remaining error of the solver.
    strengths = (coefficients + np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])[:, :-1]
    return strengths - strengths.mean(axis=1, keepdims=True)


def _hessian(
    contrasts: Floats, *, pair: NDArray[np.intp], variance: Floats, length: Floats, bootstrap: QuestionBootstrap
) -> Floats:
    """Return the negative Hessian of the log posterior in each line: shape (1 + resamples, models + 1, models + 1).

    Rows of one pair differ in their length only, so sums per pair suffice.
    """
    num_pairs, models = contrasts.shape
    constant, linear, quadratic = (bootstrap.totals(variance * length**power, pair, num_pairs) for power in (0, 1, 2))
    hessian = np.empty((len(constant), models + 1, models + 1))
    hessian[:, :models, :models] = np.einsum("lp,pi,pj->lij", constant, contrasts, contrasts, optimize=True)
    hessian[:, models, :models] = hessian[:, :models, models] = linear @ contrasts
    hessian[:, models, models] = quadratic.sum(axis=1)
    return hessian + np.eye(models + 1) / PRIOR_SD**2


def win_rates(comparisons: Comparisons, bootstrap: QuestionBootstrap) -> Floats:
    """Compute each model's share of points, as observed and in each resample: shape (1 + resamples, models)."""
    games, points = (
        bootstrap.totals(values, comparisons.pair, len(comparisons.pairs))
        for values in (np.ones(len(comparisons.pair)), comparisons.points)
    )
    return _win_rate_per_model(comparisons, points, games)


def expected_win_rates(strengths: Floats) -> Floats:
    """Compute each model's expected share of points against all others equally often: shape (lines, models), as given."""
    probability = expit(strengths[:, :, None] - strengths[:, None, :])
    return (probability.sum(axis=2) - 0.5) / max(strengths.shape[1] - 1, 1)


def predicted_win_rates(strengths: Floats, comparisons: Comparisons, bootstrap: QuestionBootstrap) -> Floats:
    """Compute each model's expected share of points against its actual opponents: shape (1 + resamples, models)."""
    games = bootstrap.totals(np.ones(len(comparisons.pair)), comparisons.pair, len(comparisons.pairs))
    first, second = comparisons.pairs.T
    return _win_rate_per_model(comparisons, games * expit(strengths[:, first] - strengths[:, second]), games)


def _win_rate_per_model(comparisons: Comparisons, points: Floats, games: Floats) -> Floats:
    """Convert the first models' points and the games of all pairs, shape (lines, pairs), to each model's share of points."""
    first, second = (np.eye(len(comparisons.models))[comparisons.pairs[:, side]] for side in (0, 1))
    return ratio(points @ first + (games - points) @ second, games @ (first + second))
