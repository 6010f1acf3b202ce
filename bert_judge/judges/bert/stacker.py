"""Gradient-boosted trees on lexical features, and the stacker that combines their logit with the encoder's.

The trees are trained on the encoder's training rows. The weights of the two models are fitted on held-out rows, augmented ones
included; the sum is then calibrated on real rows only: logit = encoder · z₁ + features · z₂ + bias (stacking: Wolpert, 1992;
calibration: Platt, 1999). A judge without trees is calibrated by one temperature (Guo et al., 2017).

Early exit skips the encoder where its logit could not change the verdict (Teerapittayanon et al., 2016): its range given the trees'
logit is estimated on the same rows, and where both ends of the range give the same verdict, the trees decide.

Partial credit follows a proportional-odds model (McCullagh, 1980): P(fully correct) = sigmoid(logit), P(at least partly correct) =
sigmoid(logit + offset), with one offset >= 0 for all rows, so that the latter is never lower.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bert_judge.encoder.checkpoint import LogitBounds, StackerWeights
from bert_judge.encoder.judge_folder import TREES_FILE
from bert_judge.judges.bert.trees import Trees
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.logistic import expit
from bert_judge.text.features import FEATURE_NAMES

log = logging.getLogger(__name__)
# The trees stop improving at about this many rows.
MAX_TRAINING_ROWS = 100_000
BOOSTING_ROUNDS = 500
# Added to the trees of a judge that is trained further.
ADDED_ROUNDS = 100
# All else being equal, more of these never makes an answer less likely correct. Without the constraint the trees learn what correct
# answers look like in the training files, and reject those of an unseen file (docs/log.md).
INCREASING_FEATURES = frozenset(
    (
        *("contained", "same", "run_together", "recall", "novel_recall", "trigrams", "first_sentence", "last_sentence"),
        *("numbers", "years", "identical", "symbols", "final_answer", "final_contains", "last_number", "choice"),
    )
)
# More of these never makes an answer more likely correct.
DECREASING_FEATURES = frozenset({"changed_numbers", "changed_polarity", "changed_names"})
# Few validation rows, all predicted correctly, would drive the temperature to 0 or infinity.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.1, 10.0
# Recalibration: standard deviations of the Gaussian priors on the slope (mean 1) and the offset (mean 0), and the lowest slope, so
# that the order of the answers stays.
SLOPE_SD, OFFSET_SD, MIN_SLOPE = 0.5, 1.0, 0.05
RECALIBRATION_FOLDS = 10
# Highest offset between fully and at least partly correct answers.
MAX_PARTIAL_OFFSET = 10.0
# Labels between 0 and 1 are partial credit if there are so many of them and so few values; other soft labels are a teacher's doubt.
MIN_PARTIAL_ROWS, MAX_PARTIAL_GRADES = 20, 10
# For early exit, the tree logit is divided into bins of at least MIN_ROWS rows, at most MAX_BINS of them.
MIN_ROWS, MAX_BINS = 100, 20
# Share of rows below the lower bound, and above the upper one.
TAIL = 0.01
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


def fit_trees(features: np.ndarray, labels: ArrayLike, weights: ArrayLike, seed: int, start: Trees | None = None) -> Trees:
    """Train trees on features, shape (n, len(FEATURE_NAMES)), with labels in [0, 1] and weights, shape (n,); add to `start`, if
    any."""
    # Only training needs it.
    import lightgbm

    rows = np.random.default_rng(seed).permutation(len(features))[:MAX_TRAINING_ROWS]
    y, w = np.asarray(labels, float)[rows], np.asarray(weights, float)[rows]
    names = FEATURE_NAMES if start is None else start.features
    columns = features[rows][:, _columns(names)]
    dataset = lightgbm.Dataset(
        columns, y, weight=w, init_score=None if start is None else start.predict(columns), feature_name=list(names)
    )
    parameters = {**PARAMETERS, "seed": seed, "monotone_constraints": list(map(_direction, names))}
    booster = lightgbm.train(parameters, dataset, BOOSTING_ROUNDS if start is None else ADDED_ROUNDS)
    trees = Trees.from_text(booster.model_to_string())
    return trees if start is None else start + trees


def _direction(name: str) -> int:
    return int(name in INCREASING_FEATURES) - int(name in DECREASING_FEATURES)


def predict_tree_logits(trees: Trees, features: np.ndarray) -> np.ndarray:
    """Return the log-odds of a correct answer, shape (n,), from the features that the trees were trained on."""
    return trees.predict(features[:, _columns(trees.features)])


def _columns(names: Sequence[str]) -> list[int]:
    return [FEATURE_NAMES.index(name) for name in names]


def fit_stacker(
    encoder_logits: np.ndarray,
    tree_logits: np.ndarray,
    labels: Sequence[float],
    weights: Sequence[float] | None = None,
    num_real: int | None = None,
) -> StackerWeights:
    """Fit the weights of the two models, then calibrate the sum; 0.5, 0.5 and 0 if the real rows are all of one class.

    Args:
        encoder_logits, tree_logits, labels, weights: of rows that neither model was trained on, shape (n,); labels in [0, 1].
        num_real: number of leading rows that calibrate the sum; all by default. Augmented rows after them only affect the ratio of
            the two weights, because their base rate is arbitrary.
    """
    y = np.asarray(labels, float)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    real = slice(num_real)
    if y[real].min() >= 0.5 or y[real].max() < 0.5:
        log.warning("validation rows of one class only: encoder and features get equal weights")
        return StackerWeights(0.5, 0.5, 0.0)
    encoder, features = _logistic_regression(np.column_stack([encoder_logits, tree_logits]), y, w).coef_[0]
    combined = encoder * encoder_logits + features * tree_logits
    platt = _logistic_regression(combined[real, None], y[real], w[real])
    scale = float(platt.coef_[0][0])
    return StackerWeights(scale * float(encoder), scale * float(features), float(platt.intercept_[0]))


def _logistic_regression(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
    """Fit soft labels: each row counts as a positive and a negative one, weighted by its label."""
    from sklearn.linear_model import LogisticRegression

    sample_weight = np.concatenate([weights * labels, weights * (1 - labels)])
    targets = np.repeat([1, 0], len(labels))
    return LogisticRegression(C=1.0).fit(np.concatenate([values, values]), targets, sample_weight=sample_weight)


def fit_logit_bounds(encoder_logits: ArrayLike, tree_logits: ArrayLike) -> LogitBounds | None:
    """Estimate the bounds on rows that neither model was trained on, shape (n,); None for fewer than `MIN_ROWS` rows."""
    encoder, trees = np.asarray(encoder_logits, float), np.asarray(tree_logits, float)
    bins = min(MAX_BINS, len(encoder) // MIN_ROWS)
    if not bins:
        return None
    positions = np.array_split(np.argsort(trees, kind="stable"), bins)
    low, high = np.array([np.quantile(encoder[rows], (TAIL, 1 - TAIL)) for rows in positions]).T
    centers, mean = ([values[rows].mean() for rows in positions] for values in (trees, encoder))
    return LogitBounds(*([round(float(value), 4) for value in values] for values in (centers, low, mean, high)))


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """Fit T in [0.1, 10], with the highest likelihood of labels in [0, 1] under sigmoid(logit / T), shape (n,); 1.0 for no rows.

    Source: Guo et al. 2017, section 4.2.
    """
    z, y = np.asarray(logits, float), np.asarray(labels, float)
    if not len(z):
        return 1.0

    # Here and below, imported where a judge is fitted; a verdict needs neither.
    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        scaled = z / np.exp(log_temperature)
        return float(np.mean(np.logaddexp(0, scaled) - y * scaled))

    bounds = np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def fit_partial_offset(logits: ArrayLike, lenient_labels: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Fit the offset in [0, 10] with the highest likelihood of the lenient labels under sigmoid(logit + offset).

    Args:
        logits: calibrated, of a fully correct answer, of rows that the judge was not trained on, shape (n,), n > 0.
        lenient_labels: 1 for an at least partly correct answer, else 0, shape (n,).
        weights: of the rows, shape (n,); 1 by default.
    """
    from scipy.optimize import minimize_scalar

    z, y = np.asarray(logits, float), np.asarray(lenient_labels, float)
    w = np.ones(len(z)) if weights is None else np.asarray(weights, float)

    def loss(offset: float) -> float:
        return float(w @ (np.logaddexp(0, z + offset) - y * (z + offset)))

    return float(minimize_scalar(loss, bounds=(0.0, MAX_PARTIAL_OFFSET), method="bounded").x)


def find_lenient_labels(labels: ArrayLike) -> np.ndarray | None:
    """Return 1 for labels above 0 and 0 for the others, shape (n,), if labels in [0, 1] give partial credit; else None."""
    y = np.asarray(labels, float)
    partial = y[(y > 0) & (y < 1)]
    if len(partial) < MIN_PARTIAL_ROWS or len(np.unique(partial)) > MAX_PARTIAL_GRADES or y.min() > 0:
        return None
    return (y > 0).astype(float)


def fit_recalibration(logits: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """Fit slope and offset of calibrated logits, shape (n,), to labels in [0, 1]: the maximum a posteriori of Platt scaling with
    Gaussian priors around slope 1 and offset 0, so that a few labels change little; (1, 0) for no rows."""
    from scipy.optimize import minimize

    z, y = np.asarray(logits, float), np.asarray(labels, float)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, offset = parameters
        scaled = slope * z + offset
        residuals = expit(scaled) - y
        prior = ((slope - 1) / SLOPE_SD) ** 2 / 2 + (offset / OFFSET_SD) ** 2 / 2
        gradient = [residuals @ z + (slope - 1) / SLOPE_SD**2, residuals.sum() + offset / OFFSET_SD**2]
        return float((np.logaddexp(0, scaled) - y * scaled).sum() + prior), np.array(gradient)

    slope, offset = minimize(loss, np.array([1.0, 0.0]), jac=True, bounds=[(MIN_SLOPE, None), (None, None)]).x
    return float(slope), float(offset)


def cross_validate_recalibration(logits: np.ndarray, labels: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """Return the score of each row from slope and offset that were fitted to the other folds, shape (n,).

    `questions`: a number per question; a fold has whole questions.
    """
    folds, scores = questions % RECALIBRATION_FOLDS, np.zeros(len(logits))
    for fold in np.unique(folds):
        held_out = folds == fold
        slope, offset = fit_recalibration(logits[~held_out], labels[~held_out])
        scores[held_out] = expit(slope * logits[held_out] + offset)
    return scores


def load_trees(folder: Path) -> Trees:
    """Read the trees of a folder. Raises InputError: they are missing, broken, or use features that are no longer computed."""
    path = folder / TREES_FILE
    try:
        trees = Trees.load(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable: {' '.join(str(error).split())[:200]}; retrain the judge") from error
    if not set(trees.features) <= set(FEATURE_NAMES):
        raise InputError(f"{path}: uses features that this version does not compute; retrain the judge")
    return trees
