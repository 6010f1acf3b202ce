"""The head of a trained judge: the encoder's logit, and beside it what gradient-boosted trees make of lexical features.

The trees learn from the rows that the encoder learns from. How much each of the two is worth is then fitted on rows that neither
has seen, real ones and made-up ones, and the sum is calibrated on the real ones alone, whoever labelled them:
logit = encoder · z₁ + features · z₂ + bias (stacking: Wolpert, 1992; calibration: Platt, 1999).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from bert_judge.judges.bert.features import NAMES
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
FILE = "features.txt"
# Trees learn their fill from this many rows; more would only cost time.
MOST_ROWS = 100_000
ROUNDS = 500
# Whatever else is so, an answer with more of these is never less likely right. Trees that may say otherwise learn how right answers
# look in the files of the training, and refuse those of a file that they never saw (docs/log.md).
RISING = frozenset(
    (
        *("contained", "same", "run_together", "recall", "novel_recall", "trigrams", "first_sentence", "last_sentence"),
        *("numbers", "years", "final_answer", "final_contains", "last_number", "choice"),
    )
)
PARAMETERS: Mapping[str, Any] = {
    "objective": "cross_entropy",  # takes soft labels
    "num_leaves": 15,
    "learning_rate": 0.03,
    "min_data_in_leaf": 40,
    "lambda_l2": 5.0,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "deterministic": True,
    "force_row_wise": True,
    "monotone_constraints_method": "intermediate",
    "num_threads": 1,
    "verbose": -1,
}


def fit_trees(features: np.ndarray, labels: ArrayLike, weights: ArrayLike, seed: int) -> lightgbm.Booster:
    """Trees that tell right from wrong by features alone.

    Args:
        features: shape (n, len(NAMES)).
        labels: in [0, 1], shape (n,).
        weights: of the rows, shape (n,).
    """
    chosen = np.random.default_rng(seed).permutation(len(features))[:MOST_ROWS]
    y, w = np.asarray(labels, float)[chosen], np.asarray(weights, float)[chosen]
    data = lightgbm.Dataset(features[chosen], y, weight=w, feature_name=list(NAMES))
    directions = [int(name in RISING) for name in NAMES]
    return lightgbm.train({**PARAMETERS, "seed": seed, "monotone_constraints": directions}, data, ROUNDS)


def tree_logits(trees: lightgbm.Booster, features: np.ndarray) -> np.ndarray:
    """log-odds of being right, shape (n,); of the features those that the trees were grown with."""
    if not len(features):
        return np.zeros(0)
    known = [NAMES.index(name) for name in trees.feature_name()]
    return np.asarray(trees.predict(features[:, known], raw_score=True, num_threads=1), float)


def fit_stack(
    encoder: np.ndarray,
    trees: np.ndarray,
    labels: Sequence[float],
    weights: Sequence[float] | None = None,
    real: int | None = None,
) -> dict[str, float]:
    """What the encoder's logit, the trees' logit and a constant are worth.

    Args:
        encoder, trees: logits of rows that neither was trained on, shape (n,).
        labels: in [0, 1], shape (n,).
        weights: of the rows, shape (n,); 1 when left out.
        real: how many of the rows, the first ones, calibrate the sum; all when left out. Made-up rows behind them say which of
            the two to listen to where they differ, and nothing about how often answers are right.

    Returns:
        `encoder`, `features` and `bias`. Rows of one class only say nothing of the two: then both count half.
    """
    y = np.asarray(labels, float)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    if y[:real].min() >= 0.5 or y[:real].max() < 0.5:
        log.warning("validation rows of one class only: encoder and features are not weighed against each other")
        return {"encoder": 0.5, "features": 0.5, "bias": 0.0}
    worth = _regression(np.column_stack([encoder, trees]), y, w).coef_[0]
    together = worth[0] * encoder + worth[1] * trees
    scale = _regression(together[:real, None], y[:real], w[:real])
    slope = float(scale.coef_[0][0])
    return {"encoder": slope * float(worth[0]), "features": slope * float(worth[1]), "bias": float(scale.intercept_[0])}


def _regression(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> LogisticRegression:
    """On soft labels: each row is a right and a wrong one, with its share of the weight."""
    shares = np.concatenate([weights * labels, weights * (1 - labels)])
    return LogisticRegression(C=1.0).fit(np.concatenate([values, values]), np.repeat([1, 0], len(labels)), sample_weight=shares)


def save_trees(trees: lightgbm.Booster | None, folder: Path) -> None:
    """In LightGBM's own text format, which later versions read; an empty file for a judge without trees."""
    (folder / FILE).write_text(trees.model_to_string() if trees else "", encoding="utf-8")


def load_trees(folder: Path) -> lightgbm.Booster:
    """The trees of a judge's folder.

    Raises:
        InputError: they are missing, broken, or use features that are no longer computed.
    """
    try:
        trees = lightgbm.Booster(model_str=(folder / FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, lightgbm.basic.LightGBMError) as error:
        raise InputError(f"{folder / FILE}: not readable: {' '.join(str(error).split())[:200]}; train the judge anew") from error
    if not set(trees.feature_name()) <= set(NAMES):
        raise InputError(f"{folder / FILE}: made with other features than this version computes; train the judge anew")
    return trees
