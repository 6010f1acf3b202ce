"""Training of a probe: what is there is found, what is not there is not, and no choice sees the rows it is measured on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from bert_judge.judges.probe import heads
from bert_judge.judges.probe.metrics import measured
from bert_judge.judges.probe.training import fitting
from bert_judge.judges.probe.training.classifiers import folds
from bert_judge.judges.probe.training.selection import Kept, grown, part, ranked
from bert_judge.runtime.errors import InputError

ROWS, WIDTH = 160, 12
SETTINGS: dict[str, Any] = {"seed": 0, "folds": 3, "pca_components": 8, "max_concat_layers": 2, "classifiers": ["logistic"]}
BINARY = {"head": "binary", "range": [0, 1], "positive_from": None}
ORDINAL = {"head": "ordinal", "range": [1, 4], "positive_from": None}
GROUPS = np.array([f"q{row // 2}" for row in range(ROWS)])


class Made:
    """States in which one place knows the classes and the others are noise."""

    places: ClassVar = [(0, "mean"), (1, "mean"), (1, "last")]
    knowing = (1, "last")

    def __init__(self, classes: np.ndarray, strength: float = 1.5) -> None:
        random = np.random.default_rng(1)
        self.states = {place: random.normal(size=(ROWS, WIDTH)).astype("float32") for place in self.places}
        self.states[self.knowing][:, :4] += strength * classes[:, None]

    def at(self, place: tuple[int, str]) -> np.ndarray:
        return self.states[place]


def aspect(classes: np.ndarray, spec: dict[str, Any]) -> fitting.Aspect:
    return fitting.Aspect("a", spec, np.arange(ROWS), classes, GROUPS)


@pytest.fixture(scope="module")
def binary() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, ROWS)


@pytest.mark.parametrize(("spec", "low", "high"), [(BINARY, 0, 1), (ORDINAL, 1, 4), ({**ORDINAL, "head": "classes"}, 1, 4)])
def test_what_one_place_knows_is_found_there(spec: dict[str, Any], low: int, high: int) -> None:
    classes = np.random.default_rng(0).integers(low, high + 1, ROWS)
    fitted, told = fitting.fit(Made(classes), aspect(classes, spec), SETTINGS)
    assert fitted.places[0] == Made.knowing
    assert f1_score(classes, told, average="macro") > 0.8
    probabilities = fitted.model.predict_proba(np.concatenate([Made(classes).at(p) for p in fitted.places], axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_a_rare_class_is_told_where_little_can_be_told() -> None:
    """By the likeliest class alone a weak probe would tell the commonest one of every row."""
    classes = (np.random.default_rng(5).random(ROWS) < 0.75).astype(int)
    fitted, told = fitting.fit(Made(classes, strength=0.3), aspect(classes, BINARY), SETTINGS)
    found = np.concatenate([Made(classes, strength=0.3).at(p) for p in fitted.places], axis=1)
    assert set(told) == set(fitted.model.predict(found)) == {0, 1}
    assert 0.2 < np.mean(told == 0) < 0.7
    # The probabilities know the shares of the classes.
    assert fitted.model.predict_proba(found)[:, 1].mean() == pytest.approx(classes.mean(), abs=0.05)


def test_shuffled_labels_are_told_at_chance(binary: np.ndarray) -> None:
    """Were layers, components or settings chosen with a look at the held-out rows, this would be above chance."""
    shuffled = np.random.default_rng(3).permutation(binary)
    _, told = fitting.fit(Made(binary), aspect(shuffled, BINARY), SETTINGS)
    figures = measured(shuffled, told, GROUPS)
    assert figures["macro_f1"][1] < 0.5 < figures["macro_f1"][2] + 0.05
    assert figures["macro_f1"][0] < 0.62


def test_no_choice_sees_the_rows_it_is_measured_on(binary: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[int]] = []
    monkeypatch.setattr(fitting, "part", lambda rows, *rest: seen.append(set(rows.tolist())) or part(rows, *rest))
    fitting.fit(Made(binary), aspect(binary, BINARY), SETTINGS)
    outer = folds(binary, GROUPS, 3, 0)
    assert seen == [{*train.tolist()} for train, _ in outer] + [set(range(ROWS))]
    for (train, test), rows in zip(outer, seen, strict=False):
        assert rows.isdisjoint(test.tolist())
        assert set(GROUPS[train]).isdisjoint(GROUPS[test])


def test_the_ranking_of_a_part_ignores_all_other_rows(binary: np.ndarray) -> None:
    made, spoiled = Made(binary), Made(binary)
    rows = np.arange(ROWS // 2)
    for states in spoiled.states.values():
        states[ROWS // 2 :] = 1e6
    rankings = [ranked(Kept(states), [part(rows, binary, GROUPS, 0)], SETTINGS) for states in (made, spoiled)]
    assert rankings[0] == rankings[1]


def test_one_more_place_is_kept_only_if_it_is_better(binary: np.ndarray) -> None:
    made = Made(binary, strength=4)
    each = part(np.arange(ROWS), binary, GROUPS, 0)
    [ranking] = ranked(Kept(made), [each], SETTINGS)
    assert grown(Kept(made), each, ranking, {**SETTINGS, "max_concat_layers": 5}) == [Made.knowing]


@pytest.mark.parametrize("classes", [np.ones(ROWS, int), np.arange(ROWS) % 2])
def test_too_little_to_learn_from(classes: np.ndarray) -> None:
    one = fitting.Aspect("a", BINARY, np.arange(ROWS), classes, np.array(["q"] * ROWS))
    with pytest.raises(InputError, match=r"aspects\.a: 160 labelled rows with the classes .* are too few to learn from"):
        fitting.fit(Made(classes), one, SETTINGS)


@pytest.mark.parametrize(
    ("values", "spec", "classes"),
    [
        ([1, 2.5, 3.5, 4], ORDINAL, [1, 3, 4, 4]),
        ([0, 0.49, 0.5, 1], BINARY, [0, 0, 1, 1]),
        ([1, 3, 4, 5], {"head": "binary", "range": [1, 5], "positive_from": 4}, [0, 0, 1, 1]),
    ],
)
def test_labels_become_classes(values: list[float], spec: dict[str, Any], classes: list[int]) -> None:
    assert heads.classes_of("a", np.array(values), spec).tolist() == classes


@pytest.mark.parametrize("value", [0.5, 4.5])
def test_a_label_out_of_range_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"aspects\.tone\.range: a label is .*, outside 1 to 4"):
        heads.classes_of("tone", np.array([2, value]), ORDINAL)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40))
def test_figures_are_those_of_scikit_learn_and_lie_in_their_intervals(rows: list[tuple[int, int, int]]) -> None:
    truth, told, groups = (np.array(column) for column in zip(*rows, strict=True))
    found = measured(truth, told, groups)
    for name in ("macro", "weighted"):
        value, low, high = found[f"{name}_f1"]
        assert value == pytest.approx(f1_score(truth, told, average=name, zero_division=0))
        assert low <= value <= high
    assert found["accuracy"][0] == pytest.approx((truth == told).mean())
