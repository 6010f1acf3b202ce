"""Fit the classifier of an aspect: select layers, search settings, calibrate, and cross-validate all of it by question."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bert_judge.judges.probe.classifiers import CalibratedClassifier, OrdinalClassifier, Splits
from bert_judge.judges.probe.judge import LayerPooling
from bert_judge.runtime.errors import InputError

# Layers with their macro-F1, the best first.
Ranking = list[tuple[LayerPooling, float]]
# Number of best layers that concatenations are tried with.
MAX_CANDIDATE_LAYERS = 8
# Folds in which layers and settings are compared.
INNER_FOLDS = 3
# Classifier → inverse regularisation strengths to try; few, because each is fitted in every fold of every fold.
GRIDS: Mapping[str, Sequence[float]] = {"logistic": (0.01, 0.1, 1.0), "linear_svm": (0.001, 0.01, 0.1)}


class StatesByLayer(Protocol):
    """Hidden states of the rows of a dataset."""

    @property
    def layers(self) -> list[LayerPooling]: ...

    def load(self, layer: LayerPooling) -> np.ndarray:
        """Shape (rows, width)."""
        ...


@dataclass(frozen=True)
class AspectLabels:
    """The labels of an aspect: indices of the labelled training and test rows; class (arbitrary without a label) and question of
    every row."""

    name: str
    head: Mapping[str, Any]
    train: np.ndarray
    test: np.ndarray
    classes: np.ndarray
    questions: np.ndarray


@dataclass(frozen=True)
class FittedAspect:
    """A fitted classifier.

    Attributes:
        model: predicts the class, and calibrated probabilities of `model.classes_`.
        selection_f1: macro-F1 in the folds of the selection, and therefore optimistic.
        ranking: all layers with their macro-F1, the best first.
    """

    model: CalibratedClassifier
    layers: list[LayerPooling]
    classifier: str
    settings: dict[str, Any]
    selection_f1: float
    ranking: Ranking


def concatenate(states: StatesByLayer, layers: Sequence[LayerPooling]) -> np.ndarray:
    """Return states of shape (rows, sum of the widths)."""
    return np.concatenate([states.load(layer) for layer in layers], axis=1)


@dataclass(frozen=True)
class TrainingSubset:
    """Rows that a classifier is selected on and fitted to: their indices, classes, and inner folds."""

    indices: np.ndarray
    classes: np.ndarray
    splits: Splits


def make_subset(aspect: AspectLabels, indices: np.ndarray, seed: int) -> TrainingSubset:
    """Select rows of an aspect, and split them into inner folds."""
    classes = aspect.classes[indices]
    return TrainingSubset(indices, classes, make_folds(classes, aspect.questions[indices], INNER_FOLDS, seed))


def fit_aspect(states: StatesByLayer, aspect: AspectLabels, settings: Mapping[str, Any]) -> tuple[FittedAspect, np.ndarray]:
    """Fit the classifier of an aspect, and predict its rows out of fold.

    Every fold of the outer cross-validation selects layers, classifier and calibration from its own training rows, so that the
    out-of-fold predictions are an unbiased estimate for the whole procedure. Return the classifier fitted to all rows, and the
    out-of-fold class of each of `aspect.train`. Raises InputError: the labels have one class only, or too few questions for folds.
    """
    seed = settings["seed"]
    classes = aspect.classes[aspect.train]
    outer = make_folds(classes, aspect.questions[aspect.train], settings["folds"], seed)
    if not outer:
        raise InputError(
            f"aspects.{aspect.name}: {len(aspect.train)} labelled rows with the classes {np.unique(classes).tolist()} "
            "are too few to train on; add questions, or remove the aspect"
        )
    subsets = [make_subset(aspect, aspect.train[train], seed) for train, _ in outer]
    subsets.append(make_subset(aspect, aspect.train, seed))
    rankings = rank_layers(states, subsets, settings)
    predictions = np.zeros(len(aspect.train), int)
    for (_, test), subset, ranking in zip(outer, subsets, rankings, strict=False):
        fitted = _fit_subset(states, subset, ranking, aspect, settings)
        predictions[test] = fitted.model.predict(concatenate(states, fitted.layers)[aspect.train[test]])
    return _fit_subset(states, subsets[-1], rankings[-1], aspect, settings), predictions


def _fit_subset(
    states: StatesByLayer, subset: TrainingSubset, ranking: Ranking, aspect: AspectLabels, settings: Mapping[str, Any]
) -> FittedAspect:
    if not subset.splits:
        raise InputError(f"aspects.{aspect.name}: too few questions for nested folds; lower `folds` or add questions")
    layers = forward_selection(states, subset, ranking, settings)
    features = concatenate(states, layers)[subset.indices]
    pipeline = make_pipeline(features.shape[1], subset, settings)
    grid = parameter_grid(settings["classifiers"], aspect.head["head"], settings["seed"])
    with warnings.catch_warnings():
        # Settings that do not converge lose the search, and a fold may lack a rare class.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Number of classes in training fold", category=RuntimeWarning)
        search = GridSearchCV(pipeline, grid, scoring="f1_macro", cv=subset.splits, refit=False).fit(features, subset.classes)
        pipeline.set_params(**search.best_params_)
        model = CalibratedClassifier(pipeline).fit(features, subset.classes, subset.splits)
    best = search.best_params_["classify"]
    best = best.base if isinstance(best, OrdinalClassifier) else best
    name = "linear_svm" if isinstance(best, LinearSVC) else "logistic"
    return FittedAspect(model, layers, name, {"C": best.C}, float(search.best_score_), ranking)


def rank_layers(states: StatesByLayer, subsets: Sequence[TrainingSubset], settings: Mapping[str, Any]) -> list[Ranking]:
    """Rank all layers for each subset by macro-F1 in its folds; each layer is read once for all subsets."""
    scores = np.zeros((len(subsets), len(states.layers)))
    for column, layer in enumerate(states.layers):
        features = states.load(layer)
        scores[:, column] = [cross_validated_f1(features[subset.indices], subset, settings) for subset in subsets]
    orders = np.argsort(-scores, axis=1, kind="stable")
    return [[(states.layers[column], float(line[column])) for column in order] for line, order in zip(scores, orders, strict=True)]


def forward_selection(
    states: StatesByLayer, subset: TrainingSubset, ranking: Ranking, settings: Mapping[str, Any]
) -> list[LayerPooling]:
    """Start with the best layer and add others as long as the macro-F1 in the folds improves."""
    selected, best = [ranking[0][0]], ranking[0][1]
    while len(selected) < settings["max_concat_layers"]:
        remaining = [layer for layer, _ in ranking[:MAX_CANDIDATE_LAYERS] if layer not in selected]
        if not remaining:
            break
        candidates = (concatenate(states, [*selected, layer])[subset.indices] for layer in remaining)
        scores = [cross_validated_f1(features, subset, settings) for features in candidates]
        if max(scores) <= best:
            break
        best = max(scores)
        selected.append(remaining[int(np.argmax(scores))])
    return selected


def cross_validated_f1(features: np.ndarray, subset: TrainingSubset, settings: Mapping[str, Any]) -> float:
    """Compute the mean macro-F1 of a logistic probe over the folds of a subset; 0 without folds, or if all rows are the same."""
    # Before the first layer, the last token of a prompt is the same in all rows.
    if not subset.splits or (features == features[0]).all():
        return 0.0
    pipeline = make_pipeline(features.shape[1], subset, settings)
    scores = cross_val_score(pipeline, features, subset.classes, scoring="f1_macro", cv=subset.splits, error_score="raise")
    return float(scores.mean())


def make_classifier(name: str, strength: float, seed: int) -> Any:
    """Return a classifier with balanced class weights; `strength`: inverse of its regularisation."""
    if name == "logistic":
        return LogisticRegression(C=strength, class_weight="balanced", max_iter=2000)
    return LinearSVC(C=strength, class_weight="balanced", random_state=seed, max_iter=5000)


def make_pipeline(width: int, subset: TrainingSubset, settings: Mapping[str, Any]) -> Pipeline:
    """Impute, scale, reduce to as many principal components as every inner fold can have, and classify."""
    smallest = min((len(train) for train, _ in subset.splits), default=len(subset.indices))
    components = max(1, min(settings["pca_components"], width, smallest - 1))
    return Pipeline(
        [
            ("impute", SimpleImputer(keep_empty_features=True)),
            ("scale", StandardScaler()),
            ("reduce", PCA(components, random_state=settings["seed"])),
            ("classify", make_classifier("logistic", 0.1, settings["seed"])),
        ]
    )


def parameter_grid(names: Sequence[str], head: str, seed: int) -> dict[str, list[Any]]:
    """Return the named classifiers with all their strengths, as a parameter grid of the pipeline."""
    classifiers = [make_classifier(name, strength, seed) for name in names for strength in GRIDS[name]]
    return {"classify": [OrdinalClassifier(base) for base in classifiers] if head == "ordinal" else classifiers}


def make_folds(classes: np.ndarray, questions: np.ndarray, num_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split rows by question, stratified by class, into at most `num_folds` folds whose training rows have several classes."""
    most_common = int(np.unique(classes, return_counts=True)[1].max())
    count = min(num_folds, len(np.unique(questions)), most_common)
    if count < 2:
        return []
    splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    splits = splitter.split(np.zeros((len(classes), 1)), classes, questions)
    return [(train, test) for train, test in splits if len(test) and len(np.unique(classes[train])) > 1]
