"""Which layers a probe looks at.

Rows that a choice is measured on later take no part in it: the caller hands over training rows only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import f1_score

from bert_judge.judges.probe.training.classifiers import Splits, classifier, components_for, folds, pipeline

# (layer, pooling) of a vector of hidden states.
Place = tuple[int, str]
# Places with their macro-F1, the best first.
Ranking = list[tuple[Place, float]]
# Concatenations are tried with so many of the best places.
SHORT_LIST = 8
# Folds in which places and settings are compared.
INNER_FOLDS = 3


class States(Protocol):
    """Hidden states of the training rows."""

    @property
    def places(self) -> list[Place]: ...

    def at(self, place: Place) -> np.ndarray:
        """Shape (rows, width)."""
        ...


class Kept:
    """States with the last few places kept in memory, so that a concatenation does not read them again."""

    def __init__(self, states: States) -> None:
        self.places = states.places
        self.at = lru_cache(maxsize=SHORT_LIST)(states.at)

    def beside(self, places: Sequence[Place]) -> np.ndarray:
        """The states of several places side by side."""
        return np.concatenate([self.at(place) for place in places], axis=1)


@dataclass(frozen=True)
class Part:
    """Training rows of one aspect.

    Attributes:
        rows: their numbers among the rows of the states, shape (n,).
        classes, groups: class and question of each, shape (n,).
        splits: the folds inside these rows.
    """

    rows: np.ndarray
    classes: np.ndarray
    groups: np.ndarray
    splits: Splits


def part(rows: np.ndarray, classes: np.ndarray, groups: np.ndarray, seed: int) -> Part:
    """The part that these rows make up; `classes` and `groups` are of all rows."""
    return Part(rows, classes[rows], groups[rows], folds(classes[rows], groups[rows], INNER_FOLDS, seed))


def ranked(states: Kept, parts: Sequence[Part], settings: Mapping[str, Any]) -> list[Ranking]:
    """Per part all places with their macro-F1 in its folds, the best first. A place is read once for all parts."""
    scores = np.zeros((len(parts), len(states.places)))
    for column, place in enumerate(states.places):
        found = states.at(place)
        scores[:, column] = [quick_f1(found[each.rows], each, settings) for each in parts]
    orders = np.argsort(-scores, axis=1, kind="stable")
    return [[(states.places[column], float(line[column])) for column in order] for line, order in zip(scores, orders, strict=True)]


def grown(states: Kept, each: Part, ranking: Ranking, settings: Mapping[str, Any]) -> list[Place]:
    """The best place, and beside it others for as long as one more makes the macro-F1 in the folds better."""
    chosen, best = [ranking[0][0]], ranking[0][1]
    while len(chosen) < settings["max_concat_layers"]:
        rest = [place for place, _ in ranking[:SHORT_LIST] if place not in chosen]
        if not rest:
            break
        tried = [quick_f1(states.beside([*chosen, place])[each.rows], each, settings) for place in rest]
        if max(tried) <= best:
            break
        best = max(tried)
        chosen.append(rest[int(np.argmax(tried))])
    return chosen


def quick_f1(found: np.ndarray, each: Part, settings: Mapping[str, Any]) -> float:
    """Mean macro-F1 of a logistic probe over the folds of a part; 0 without folds."""
    if not each.splits:
        return 0.0
    components = components_for(settings["pca_components"], found.shape[1], each.splits, len(found))
    scores = []
    for train, test in each.splits:
        model = pipeline(classifier("logistic", settings["seed"]), components, settings["seed"])
        told = model.fit(found[train], each.classes[train]).predict(found[test])
        scores.append(f1_score(each.classes[test], told, average="macro", zero_division=0))
    return float(np.mean(scores))
