"""Trees as arrays: LightGBM's predictions to the last bit, and no file that ends the process or is evaluated wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder.judge_folder import TREES_FILE
from bert_judge.judges.bert.trees import BLOCK_ROWS, BLOCK_TREES, FEATURES_KEY, MAX_TREES, TENSORS, Trees

GENERAL = GENERAL_FOLDER / TREES_FILE


def arrays() -> dict[str, np.ndarray]:
    return load_file(GENERAL)


@pytest.mark.parametrize("leaves", [2, 5, 8, 15, 17, 32])
def test_predictions_are_those_of_lightgbm(leaves: int) -> None:
    """To the last bit, and whatever the other rows: several blocks of trees, of rows, and ties with thresholds."""
    random = np.random.default_rng(leaves)
    table = random.integers(-3, 4, (BLOCK_ROWS + 40, 6)) / 2
    labels = (table[:, 0] * table[:, 1] + table[:, 2] > random.normal(size=len(table))).astype(float)
    settings = {"objective": "cross_entropy", "num_leaves": leaves, "min_data_in_leaf": 2, "verbose": -1, "num_threads": 1}
    names = [f"f{number}" for number in range(6)]
    booster = lightgbm.train(settings, lightgbm.Dataset(table, labels, feature_name=names), BLOCK_TREES + 20)
    trees = Trees.from_text(booster.model_to_string())
    assert trees.features == tuple(names)
    assert len(trees.num_leaves) == booster.num_trees()
    assert trees.num_leaves.max() <= leaves
    expected = booster.predict(table, raw_score=True)
    assert len(np.unique(expected)) > 20
    np.testing.assert_array_equal(trees.predict(table), expected)
    np.testing.assert_array_equal([trees.predict(row[None])[0] for row in table[:9]], expected[:9])


def test_trees_of_one_leaf_add_their_value(tmp_path: Path) -> None:
    assert Trees.empty().predict(np.zeros((3, 0))).tolist() == [0, 0, 0]
    none = np.zeros(0, np.int32)
    stumps = Trees(("f",), np.ones(2, np.int32), none, np.zeros(0), none, none, np.array([0.5, 0.25]))
    for trees, value in ((stumps, 0.75), (stumps + stumps, 1.5)):
        trees.save(tmp_path / TREES_FILE)
        assert Trees.load(tmp_path / TREES_FILE).predict(np.zeros((2, 1))).tolist() == [value, value]


def change(name: str, position: int, value: float) -> Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]]:
    def altered(tensors: dict[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        tensors[name][position] = value
        return tensors

    return altered


def replace(name: str, values: np.ndarray) -> Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]]:
    return lambda tensors: tensors | {name: values}


NAMES = json.dumps([f"f{number}" for number in range(99)])


# In LightGBM's own format, numbers such as 90000000e-7 passed a check of the text, and then ended the process.
@pytest.mark.parametrize(
    ("alter", "names", "problem"),
    [
        (change("split_feature", 0, 90_000_000), NAMES, "feature that does not exist"),
        (change("split_feature", 0, -1), NAMES, "feature that does not exist"),
        (change("left_child", 0, 0), NAMES, "tree 0: its nodes do not form a tree"),
        (change("left_child", 3, -900), NAMES, "tree 0: its nodes do not form a tree"),
        (change("right_child", 14, 2**31 - 1), NAMES, "tree 1: its nodes do not form a tree"),
        (change("num_leaves", 0, 14), NAMES, "arrays of different lengths"),
        (change("num_leaves", 0, 2**31 - 1), NAMES, "trees without leaves or with more than"),
        (change("num_leaves", 0, 0), NAMES, "trees without leaves"),
        (change("num_leaves", 0, -1), NAMES, "trees without leaves"),
        (replace("num_leaves", np.ones(MAX_TREES + 1, np.int32)), NAMES, "more than 5,000 trees"),
        (change("threshold", 5, np.nan), NAMES, "a threshold or a leaf that is not a number"),
        (change("leaf_value", 5, np.inf), NAMES, "a threshold or a leaf that is not a number"),
        (replace("threshold", np.zeros(3)), NAMES, "arrays of different lengths"),
        (replace("threshold", np.zeros(7000, np.float32)), NAMES, "does not have the arrays num_leaves, "),
        (replace("threshold", np.zeros((7000, 1))), NAMES, "does not have the arrays"),
        (replace("more", np.zeros(1)), NAMES, "does not have the arrays"),
        (lambda tensors: {name: tensors[name] for name in list(TENSORS)[1:]}, NAMES, "does not have the arrays"),
        (dict, None, "does not name its features"),
        (dict, '{"f": 1}', "does not name its features"),
        (dict, "[1, 2]", "does not name its features"),
        (dict, "[" * 50_000, "recursion"),
        (dict, '["f", "f"]', "names a feature twice"),
        (dict, "[]", "feature that does not exist"),
    ],
)
def test_altered_trees_are_refused(tmp_path: Path, alter: Callable[..., Any], names: str | None, problem: str) -> None:
    path = tmp_path / TREES_FILE
    save_file(dict(alter(arrays())), path, None if names is None else {FEATURES_KEY: names})
    with pytest.raises(ValueError, match=problem):
        Trees.load(path)


def test_a_file_that_is_cut_or_no_file_of_arrays_is_refused(tmp_path: Path) -> None:
    path, content = tmp_path / TREES_FILE, GENERAL.read_bytes()
    for damaged in (b"", b"no trees", content[:1000], content[:-8], b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"\w"):
            Trees.load(path)
