"""One aspect's classifier: fitted, calibrated, and measured where it was not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from bert_judge.judges.probe import heads
from bert_judge.judges.probe.calibration import Calibrated
from bert_judge.judges.probe.training.classifiers import classifier, components_for, folds, grid, pipeline
from bert_judge.judges.probe.training.selection import Kept, Part, Place, Ranking, States, grown, part, ranked
from bert_judge.runtime.errors import InputError


@dataclass(frozen=True)
class Fitted:
    """A classifier of an aspect.

    Attributes:
        model: tells the class, and gives calibrated probabilities of `model.classes_`.
        places: the states it looks at, side by side.
        name: of the classifier.
        settings: what the grid search chose.
        inner_f1: macro-F1 in the folds in which it was chosen: too good, because it was chosen there.
        ranking: all places with their macro-F1, the best first.
    """

    model: Calibrated
    places: list[Place]
    name: str
    settings: dict[str, Any]
    inner_f1: float
    ranking: Ranking


@dataclass(frozen=True)
class Aspect:
    """What is known of an aspect in the training rows.

    Attributes:
        name, spec: see `heads`.
        rows: numbers of the rows that have a label.
        classes, groups: class and question of every row of the states; the classes of rows without a label mean nothing.
    """

    name: str
    spec: Mapping[str, Any]
    rows: np.ndarray
    classes: np.ndarray
    groups: np.ndarray


def fit(states: States, aspect: Aspect, settings: Mapping[str, Any]) -> tuple[Fitted, np.ndarray]:
    """The aspect's classifier, and what it would say of rows it has not seen.

    Every fold of the outer cross-validation chooses layers, concatenation, classifier and calibration anew from its own training
    rows; so the second result is an honest picture of the whole procedure.

    Returns:
        The classifier of all rows; the class told for each of `aspect.rows` by the fold that did not train on it.

    Raises:
        InputError: the labels have one class only, or too few questions for folds.
    """
    kept, seed = Kept(states), settings["seed"]
    outer = folds(aspect.classes[aspect.rows], aspect.groups[aspect.rows], settings["folds"], seed)
    if not outer:
        known = np.unique(aspect.classes[aspect.rows]).tolist()
        raise InputError(
            f"aspects.{aspect.name}: {len(aspect.rows)} labelled rows with the classes {known} are too few to learn from; "
            "add questions, or leave the aspect out"
        )
    parts = [part(aspect.rows[train], aspect.classes, aspect.groups, seed) for train, _ in outer]
    parts.append(part(aspect.rows, aspect.classes, aspect.groups, seed))
    rankings = ranked(kept, parts, settings)
    told = np.zeros(len(aspect.rows), int)
    for (_, test), each, ranking in zip(outer, parts, rankings, strict=False):
        fitted = _fit_part(kept, each, ranking, aspect, settings)
        told[test] = fitted.model.predict(kept.beside(fitted.places)[aspect.rows[test]])
    return _fit_part(kept, parts[-1], rankings[-1], aspect, settings), told


def _fit_part(states: Kept, each: Part, ranking: Ranking, aspect: Aspect, settings: Mapping[str, Any]) -> Fitted:
    places = grown(states, each, ranking, settings)
    found, head, seed = states.beside(places)[each.rows], aspect.spec["head"], settings["seed"]
    components = components_for(settings["pca_components"], found.shape[1], each.splits, len(found))
    start = pipeline(classifier("logistic", seed), components, seed)
    with warnings.catch_warnings():
        # A setting that does not settle is one that the search leaves, and a rare class may be missing in a fold.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Number of classes in training fold", category=RuntimeWarning)
        if not each.splits:
            raise InputError(f"aspects.{aspect.name}: too few questions for folds in folds; lower `folds` or add questions")
        search = GridSearchCV(start, grid(settings["classifiers"], head, seed), scoring="f1_macro", cv=each.splits, refit=False)
        search.fit(found, each.classes)
        best = start.set_params(**search.best_params_)
        model = Calibrated(best).fit(found, each.classes, each.splits)
    chosen = {key.rpartition("__")[2]: value for key, value in search.best_params_.items() if key != "classify"}
    inner = best.named_steps["classify"]
    name = _name(inner.base if isinstance(inner, heads.OrdinalClassifier) else inner)
    return Fitted(model, places, name, chosen, float(search.best_score_), ranking)


def _name(model: Any) -> str:
    return next(name for name in ("logistic", "linear_svm", "rbf_svm", "forest", "mlp") if type(classifier(name, 0)) is type(model))
