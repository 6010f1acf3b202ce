"""The pipelines that are fitted, the settings that the grid search tries, and the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from bert_judge.judges.probe.heads import BalancedMLP, OrdinalClassifier

Splits = list[tuple[np.ndarray, np.ndarray]]
# Classifier → settings that are tried; small, because every one is fitted in every fold of every fold.
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "logistic": {"C": [0.01, 0.1, 1.0]},
    "linear_svm": {"C": [0.001, 0.01, 0.1]},
    "rbf_svm": {"C": [1.0, 10.0]},
    "forest": {"min_samples_leaf": [2, 8]},
    "mlp": {"alpha": [0.1, 10.0]},
}


def classifier(name: str, seed: int) -> Any:
    """A classifier to which all classes count alike, however rare."""
    match name:
        case "logistic":
            return LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000)
        case "linear_svm":
            return LinearSVC(class_weight="balanced", random_state=seed, max_iter=5000)
        case "rbf_svm":
            return SVC(class_weight="balanced", random_state=seed)
        case "forest":
            return RandomForestClassifier(n_estimators=100, class_weight="balanced_subsample", random_state=seed)
        case "mlp":
            return BalancedMLP(hidden_layer_sizes=(32,), max_iter=200, random_state=seed)
        case _:
            raise ValueError(name)


def pipeline(model: Any, components: int, seed: int) -> Pipeline:
    """What is missing filled in, every number on one scale, the main directions, a classifier: all learnt from the same rows."""
    steps = [
        ("impute", SimpleImputer(keep_empty_features=True)),
        ("scale", StandardScaler()),
        ("reduce", PCA(components, random_state=seed)),
        ("classify", model),
    ]
    return Pipeline(steps)


def grid(names: Sequence[str], head: str, seed: int) -> list[dict[str, list[Any]]]:
    """Parameter grids of a pipeline for the classifiers with these names."""
    ordinal = head == "ordinal"
    prefix = "classify__base__" if ordinal else "classify__"
    return [
        {
            "classify": [OrdinalClassifier(classifier(name, seed)) if ordinal else classifier(name, seed)],
            **{f"{prefix}{key}": list(values) for key, values in GRIDS[name].items()},
        }
        for name in names
    ]


def folds(classes: np.ndarray, groups: np.ndarray, wanted: int, seed: int) -> Splits:
    """Splits by question with like shares of the classes; those whose training part has one class teach nothing and are left out.

    Args:
        classes, groups: class and question of each row, shape (n,).
        wanted: number of folds, fewer where there are fewer questions or rows of the commonest class.
    """
    commonest = int(np.unique(classes, return_counts=True)[1].max())
    count = min(wanted, len(np.unique(groups)), commonest)
    if count < 2:
        return []
    splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    found = list(splitter.split(np.zeros((len(classes), 1)), classes, groups))
    return [(train, test) for train, test in found if len(test) and len(np.unique(classes[train])) > 1]


def components_for(wanted: int, width: int, splits: Splits, rows: int) -> int:
    """As many components as every training part can have."""
    smallest = min((len(train) for train, _ in splits), default=rows)
    return max(1, min(wanted, width, smallest - 1))
