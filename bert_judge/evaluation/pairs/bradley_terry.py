"""Bradley-Terry strengths of models from pairwise comparisons, with bootstrap intervals.

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

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from bert_judge.statistics.bootstrap import Floats, QuestionBootstrap, ratio

PRIOR_SD = 10.0


@dataclass(frozen=True)
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
            models,
            pairs,
            pair_index[np.minimum(a, b), np.maximum(a, b)],
            np.where(a_first, a_points, 1 - a_points),
            np.where(a_first, lengths, -lengths),
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
    hessian = _hessian(contrasts, pair, probability * (1 - probability), length, bootstrap)
    # The step of line 0 is the remaining error of the solver.
    strengths = (coefficients + np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])[:, :-1]
    return strengths - strengths.mean(axis=1, keepdims=True)


def _hessian(contrasts: Floats, pair: NDArray[np.intp], variance: Floats, length: Floats, bootstrap: QuestionBootstrap) -> Floats:
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
