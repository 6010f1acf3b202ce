"""Fitting of a probe: informative layers are found, and selection does not use the rows it is evaluated on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from bert_judge.judges.probe import fit
from bert_judge.judges.probe.classifiers import to_classes
from bert_judge.judges.probe.fit import (
    AspectLabels,
    concatenate,
    fit_aspect,
    forward_selection,
    make_folds,
    make_subset,
    rank_layers,
)
from bert_judge.judges.probe.train import class_metrics
from bert_judge.runtime.errors import InputError

ROWS, WIDTH = 160, 12
SETTINGS: dict[str, Any] = {"seed": 0, "folds": 3, "pca_components": 8, "max_concat_layers": 2, "classifiers": ["logistic"]}
BINARY = {"head": "binary", "range": [0, 1], "positive_from": None}
ORDINAL = {"head": "ordinal", "range": [1, 4], "positive_from": None}
QUESTIONS = np.array([f"q{row // 2}" for row in range(ROWS)])


class SyntheticStates:
    """States in which one layer is informative and the others are noise."""

    layers: ClassVar = [(0, "mean"), (1, "mean"), (1, "last")]
    informative = (1, "last")

    def __init__(self, classes: np.ndarray, strength: float = 1.5) -> None:
        random = np.random.default_rng(1)
        self.states = {layer: random.normal(size=(ROWS, WIDTH)).astype("float32") for layer in self.layers}
        self.states[self.informative][:, :4] += strength * classes[:, None]

    def load(self, layer: tuple[int, str]) -> np.ndarray:
        return self.states[layer]


def aspect(classes: np.ndarray, spec: dict[str, Any] = BINARY, num_rows: int = ROWS) -> AspectLabels:
    return AspectLabels("a", spec, np.arange(num_rows), np.zeros(0, int), classes, QUESTIONS)


@pytest.fixture(scope="module")
def binary() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, ROWS)


@pytest.mark.parametrize(("spec", "low", "high"), [(BINARY, 0, 1), (ORDINAL, 1, 4), ({**ORDINAL, "head": "classes"}, 1, 4)])
def test_informative_layer_is_selected(spec: dict[str, Any], low: int, high: int) -> None:
    classes = np.random.default_rng(0).integers(low, high + 1, ROWS)
    fitted, predictions = fit_aspect(SyntheticStates(classes), aspect(classes, spec), SETTINGS)
    assert fitted.layers[0] == SyntheticStates.informative
    assert f1_score(classes, predictions, average="macro") > 0.8
    probabilities = fitted.model.predict_proba(concatenate(SyntheticStates(classes), fitted.layers))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_weak_probe_predicts_the_rare_class() -> None:
    """By calibrated probabilities alone, a weak probe would always predict the most common class."""
    classes = (np.random.default_rng(5).random(ROWS) < 0.75).astype(int)
    fitted, predictions = fit_aspect(SyntheticStates(classes, strength=0.3), aspect(classes, BINARY), SETTINGS)
    features = concatenate(SyntheticStates(classes, strength=0.3), fitted.layers)
    assert set(predictions) == set(fitted.model.predict(features)) == {0, 1}
    assert 0.2 < np.mean(predictions == 0) < 0.7
    # The probabilities follow the base rate.
    assert fitted.model.predict_proba(features)[:, 1].mean() == pytest.approx(classes.mean(), abs=0.05)


def test_shuffled_labels_are_predicted_at_chance(binary: np.ndarray) -> None:
    """If layers, components or settings were selected on the held-out rows, this would be above chance."""
    shuffled = np.random.default_rng(3).permutation(binary)
    _, predictions = fit_aspect(SyntheticStates(binary), aspect(shuffled, BINARY), SETTINGS)
    metrics = class_metrics(shuffled, predictions, QUESTIONS)
    assert metrics["macro_f1"][1] < 0.5 < metrics["macro_f1"][2] + 0.05
    assert metrics["macro_f1"][0] < 0.62


def test_selection_does_not_use_held_out_rows(binary: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[set[int]] = []

    def record(rows: AspectLabels, indices: np.ndarray, seed: int) -> fit.TrainingSubset:
        used.append(set(indices.tolist()))
        return make_subset(rows, indices, seed)

    monkeypatch.setattr(fit, "make_subset", record)
    fit_aspect(SyntheticStates(binary), aspect(binary), SETTINGS)
    outer = make_folds(binary, QUESTIONS, 3, 0)
    assert used == [{*train.tolist()} for train, _ in outer] + [set(range(ROWS))]
    for (train, test), rows in zip(outer, used, strict=False):
        assert rows.isdisjoint(test.tolist())
        assert set(QUESTIONS[train]).isdisjoint(QUESTIONS[test])


def test_ranking_ignores_rows_outside_the_part(binary: np.ndarray) -> None:
    original, changed = SyntheticStates(binary), SyntheticStates(binary)
    subset = make_subset(aspect(binary), np.arange(ROWS // 2), 0)
    for states in changed.states.values():
        states[ROWS // 2 :] = 1e6
    rankings = [rank_layers(states, [subset], SETTINGS) for states in (original, changed)]
    assert rankings[0] == rankings[1]


@pytest.mark.filterwarnings("error")
def test_layer_without_variance_is_ranked_last(binary: np.ndarray) -> None:
    states = SyntheticStates(binary)
    states.states[0, "mean"][:] = 1
    [ranking] = rank_layers(states, [make_subset(aspect(binary), np.arange(ROWS), seed=0)], SETTINGS)
    assert ranking[-1] == ((0, "mean"), 0.0)


def test_layer_is_added_only_if_it_improves(binary: np.ndarray) -> None:
    states = SyntheticStates(binary, strength=4)
    subset = make_subset(aspect(binary), np.arange(ROWS), 0)
    [ranking] = rank_layers(states, [subset], SETTINGS)
    assert forward_selection(states, subset, ranking, {**SETTINGS, "max_concat_layers": 5}) == [SyntheticStates.informative]


@pytest.mark.parametrize("classes", [np.ones(ROWS, int), np.arange(ROWS) % 2])
def test_too_few_rows_are_an_error(classes: np.ndarray) -> None:
    one = AspectLabels("a", BINARY, np.arange(ROWS), np.zeros(0, int), classes, np.array(["q"] * ROWS))
    with pytest.raises(InputError, match=r"aspects\.a: 160 labelled rows with the classes .* are too few to train on"):
        fit_aspect(SyntheticStates(classes), one, SETTINGS)


@pytest.mark.parametrize(
    ("values", "spec", "classes"),
    [
        ([1, 2.5, 3.5, 4], ORDINAL, [1, 3, 4, 4]),
        ([0, 0.49, 0.5, 1], BINARY, [0, 0, 1, 1]),
        ([1, 3, 4, 5], {"head": "binary", "range": [1, 5], "positive_from": 4}, [0, 0, 1, 1]),
    ],
)
def test_labels_become_classes(values: list[float], spec: dict[str, Any], classes: list[int]) -> None:
    assert to_classes("a", np.array(values), spec).tolist() == classes


@pytest.mark.parametrize("value", [0.5, 4.5])
def test_label_out_of_range_is_an_error(value: float) -> None:
    with pytest.raises(InputError, match=r"aspects\.tone\.range: a label is .*, outside 1 to 4"):
        to_classes("tone", np.array([2, value]), ORDINAL)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40))
def test_metrics_equal_scikit_learn_and_lie_in_their_intervals(rows: list[tuple[int, int, int]]) -> None:
    truth, predictions, questions = (np.array(column) for column in zip(*rows, strict=True))
    metrics = class_metrics(truth, predictions, questions)
    for name in ("macro", "weighted"):
        value, low, high = metrics[f"{name}_f1"]
        assert value == pytest.approx(f1_score(truth, predictions, average=name, zero_division=0))
        assert low <= value <= high
    assert metrics["accuracy"][0] == pytest.approx((truth == predictions).mean())
