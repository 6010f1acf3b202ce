"""Bradley-Terry strengths of models from points in pairs, with what they would be with other questions.

P(i beats j) = 1 / (1 + exp(s_j - s_i)) (Bradley and Terry 1952), a tie being half a point for either: a logistic regression without
intercept, and fitted as one. With the length of the answers as one more term it is the regression of length-controlled AlpacaEval
(Dubois et al. 2024, arXiv 2404.04475), without its term for the difficulty of a question.

A model that won or lost all its pairs has no finite strength by likelihood alone, so every coefficient has a normal prior of mean 0
and standard deviation `PRIOR`: too wide to be seen with more than a few pairs, and enough to keep such a model at about 99%.

Intervals are of the one-step bootstrap (Moulton and Zeger 1991, Computational Statistics and Data Analysis 11:53): each resample of
the questions moves the coefficients by one Newton step from the fit. Its spread is that of the cluster-robust sandwich, and it
costs a small linear system in place of a fit.
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

from bert_judge.evaluation.intervals import share
from bert_judge.evaluation.pairs.bootstrap import Draws, Floats

PRIOR = 10.0


@dataclass(frozen=True)
class Contests:
    """Which models met, row by row.

    Attributes:
        models: names, sorted.
        cells: every two of them as numbers (first, second), first < second, shape (cells, 2).
        cell: which two each row is about, shape (rows,).
        points: of the first of the two: 1, ½ or 0, shape (rows,).
        length: how much longer the first one's answer is than the second one's, on a scale from -1 to 1, shape (rows,).
    """

    models: list[str]
    cells: NDArray[np.intp]
    cell: NDArray[np.intp]
    points: Floats
    length: Floats

    @classmethod
    def of(cls, model_a: ArrayLike, model_b: ArrayLike, points: ArrayLike, longer: ArrayLike) -> Contests:
        """Contests of two different models each.

        Args:
            model_a, model_b: their names, shape (rows,).
            points: of the first: 1, ½ or 0, shape (rows,).
            longer: characters of A's answer minus those of B's, shape (rows,).
        """
        names_a, names_b = np.asarray(model_a, dtype=object), np.asarray(model_b, dtype=object)
        models = sorted({*names_a, *names_b})
        a, b = (pd.Index(models).get_indexer(pd.Index(names)) for names in (names_a, names_b))
        cells = list(combinations(range(len(models)), 2))
        number = {cell: at for at, cell in enumerate(cells)}
        cell = np.array([number[min(pair), max(pair)] for pair in zip(a, b, strict=True)], dtype=np.intp)
        given, length = np.asarray(points, dtype=float), scaled(longer)
        in_order = a < b
        array = np.array(cells, dtype=np.intp).reshape(-1, 2)
        return cls(models, array, cell, np.where(in_order, given, 1 - given), np.where(in_order, length, -length))

    @property
    def versus(self) -> Floats:
        """+1 for the first, -1 for the second of each two: shape (cells, models)."""
        found, rows = np.zeros((len(self.cells), len(self.models))), np.arange(len(self.cells))
        found[rows, self.cells[:, 0]], found[rows, self.cells[:, 1]] = 1, -1
        return found

    @property
    def unconnected(self) -> str | None:
        """Why there are no ranks: the groups of models between which nobody met; None where all are connected."""
        met = self.cells[np.unique(self.cell)]
        graph = coo_array((np.ones(len(met)), (met[:, 0], met[:, 1])), shape=(len(self.models),) * 2)
        number, group = connected_components(graph, directed=False)
        if number < 2:
            return None
        members = [", ".join(m for m, at in zip(self.models, group, strict=True) if at == one) for one in range(number)]
        return f"never compared with each other: {' | '.join(members)}; ask for pairs between them"


def scaled(longer: ArrayLike) -> Floats:
    """A difference of lengths as AlpacaEval has it: tanh of its standard scores; 0 where all are the same."""
    given = np.asarray(longer, dtype=float)
    spread = np.sqrt(np.mean(given**2)) if len(given) else 0.0
    return np.tanh(given / spread) if spread > 0 else np.zeros(len(given))


def strengths(contests: Contests, draws: Draws, controlled: bool = False) -> Floats:
    """Strengths in log odds, 0 on average, as observed (line 0) and in each resample: shape (1 + resamples, models).

    Args:
        contests: all connected.
        draws: over the questions of the contests.
        controlled: with the length of the answers as one more term, so that strengths are of answers of equal length.
    """
    # Only here: of all that reads these tables, few need a regression.
    from sklearn.linear_model import LogisticRegression

    versus, length = contests.versus, contests.length if controlled else np.zeros(len(contests.cell))
    design = np.column_stack([versus[contests.cell], length])
    model = LogisticRegression(C=PRIOR**2, fit_intercept=False, solver="lbfgs", tol=1e-6, max_iter=1000)
    won = np.repeat([1, 0], len(design))
    model.fit(np.vstack([design, design]), won, sample_weight=np.concatenate([contests.points, 1 - contests.points]))
    found = np.asarray(model.coef_[0], dtype=float)
    chance = expit(design @ found)
    gradient = draws.totals((contests.points - chance)[:, None] * design) - found / PRIOR**2
    steps = np.linalg.solve(_curvature(versus, contests.cell, chance * (1 - chance), length, draws), gradient[:, :, None])[:, :, 0]
    # The step of line 0 is what the solver left to do.
    lines = (found + steps)[:, :-1]
    return lines - lines.mean(axis=1, keepdims=True)


def _curvature(versus: Floats, cell: NDArray[np.intp], spread: Floats, length: Floats, draws: Draws) -> Floats:
    """Minus the second derivative of the log posterior in each line: shape (1 + resamples, models + 1, models + 1).

    Rows of one cell differ by their length only, so sums over cells tell everything.
    """
    cells, models = versus.shape
    plain, mixed, square = (draws.totals(spread * length**power, cell, cells) for power in (0, 1, 2))
    found = np.empty((len(plain), models + 1, models + 1))
    found[:, :models, :models] = np.einsum("lc,ci,cj->lij", plain, versus, versus, optimize=True)
    found[:, models, :models] = found[:, :models, models] = mixed @ versus
    found[:, models, models] = square.sum(axis=1)
    return found + np.eye(models + 1) / PRIOR**2


def win_rates(contests: Contests, draws: Draws) -> Floats:
    """Share of points that each model got, as observed and in each resample: shape (1 + resamples, models)."""
    games, points = (
        draws.totals(values, contests.cell, len(contests.cells)) for values in (np.ones(len(contests.cell)), contests.points)
    )
    return _per_model(contests, points, games)


def expected(strength: Floats) -> Floats:
    """Share of points that each model would get, met every other one equally often: shape (lines, models), as given."""
    chance = expit(strength[:, :, None] - strength[:, None, :])
    return (chance.sum(axis=2) - 0.5) / max(strength.shape[1] - 1, 1)


def win_rates_by(strength: Floats, contests: Contests, draws: Draws) -> Floats:
    """Share of points that strengths promise each model against those that it met: shape (1 + resamples, models)."""
    games = draws.totals(np.ones(len(contests.cell)), contests.cell, len(contests.cells))
    first, second = contests.cells.T
    return _per_model(contests, games * expit(strength[:, first] - strength[:, second]), games)


def _per_model(contests: Contests, points: Floats, games: Floats) -> Floats:
    """From the first one's points and all points of every two models, shape (lines, cells), to each model's share."""
    first, second = (np.eye(len(contests.models))[contests.cells[:, side]] for side in (0, 1))
    return share(points @ first + (games - points) @ second, games @ (first + second))
