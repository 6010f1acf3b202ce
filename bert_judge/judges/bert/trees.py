"""Gradient-boosted trees as arrays: their file, and their evaluation with numpy.

Trees may come from a stranger, so no parser in C reads them: the file is safetensors, its shapes and indices are checked here, and
numpy evaluates them, as fast as LightGBM (docs/log.md), which only training needs.

Evaluation is QuickScorer's (Lucchese et al., SIGIR 2015): the leaves of a tree are the bits of an integer, in order; a split that
sends a row to the right clears the bits of the leaves on its left; the lowest bit that remains is the row's leaf. The splits of a
feature are combined beforehand, one integer for each interval between its thresholds, so that a row takes one AND per feature and
tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]
# Name → type of the tensors in a file.
TENSORS = {
    "num_leaves": "int32",
    "split_feature": "int32",
    "threshold": "float64",
    "left_child": "int32",
    "right_child": "int32",
    "leaf_value": "float64",
}
SAFETENSORS_TYPES = {"int32": "I32", "float64": "F64"}
FEATURES_KEY = "features"
# Bits of the largest integer; `stacker.py` trains 15 leaves and 500 trees. Larger files could exhaust the memory.
MAX_LEAVES, MAX_TREES = 32, 5_000
# Trees and rows that are evaluated together, so that the tables fit into the caches of a core.
BLOCK_TREES, BLOCK_ROWS = 512, 256


class _Block(NamedTuple):
    """Some of the trees, prepared for evaluation.

    Attributes:
        columns: of the features that they test.
        thresholds: of each of these features, ascending.
        leaves: of each of these features, bits of the leaves that remain, shape (thresholds + 1, trees).
        values: of the leaves, shape (trees, bits).
    """

    columns: list[int]
    thresholds: list[Floats]
    leaves: list[np.ndarray]
    values: Floats


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees whose leaf values add up; the arrays of all trees follow each other.

    Attributes:
        features: names of the columns that are tested.
        num_leaves: of each tree; it has one split less.
        split_feature, threshold: a row whose feature is at most the threshold goes to the left child.
        left_child, right_child: number of a later split of the same tree, or −1 − number of a leaf.
        leaf_value: log-odds.
    """

    features: tuple[str, ...]
    num_leaves: Integers
    split_feature: Integers
    threshold: Floats
    left_child: Integers
    right_child: Integers
    leaf_value: Floats

    def __post_init__(self) -> None:
        """Refuse arrays that are no trees. Raises ValueError: says what is wrong."""
        counts, splits = self.num_leaves, len(self.split_feature)
        if len(counts) > MAX_TREES or (counts < 1).any() or (counts > MAX_LEAVES).any():
            raise ValueError(f"has trees without leaves or with more than {MAX_LEAVES}, or more than {MAX_TREES:,} trees")
        lengths = {len(self.threshold), len(self.left_child), len(self.right_child), int(counts.sum()) - len(counts)}
        if lengths != {splits} or len(self.leaf_value) != counts.sum():
            raise ValueError("has arrays of different lengths")
        if not (np.isfinite(self.threshold).all() and np.isfinite(self.leaf_value).all()):
            raise ValueError("has a threshold or a leaf that is not a number")
        if len(set(self.features)) != len(self.features):
            raise ValueError("names a feature twice")
        if (self.split_feature < 0).any() or (self.split_feature >= len(self.features)).any():
            raise ValueError("tests a feature that does not exist")
        for number, (nodes, leaves) in enumerate(self._slices()):
            children = np.stack([self.left_child[nodes], self.right_child[nodes]])
            parents, size = np.arange(children.shape[1]), leaves.stop - leaves.start
            # Every split but the root, and every leaf, has one parent, which comes before it: no cycle, nothing out of range.
            expected = np.concatenate([np.arange(-size, 0), np.arange(1, size - 1)]) if size > 1 else np.zeros(0, int)
            if not np.array_equal(np.sort(children, axis=None), expected) or ((children >= 0) & (children <= parents)).any():
                raise ValueError(f"tree {number}: its nodes do not form a tree")

    def _slices(self) -> Iterator[tuple[slice, slice]]:
        """Yield the positions of the splits and of the leaves of each tree."""
        ends = np.cumsum(self.num_leaves).tolist()
        for number, (end, size) in enumerate(zip(ends, self.num_leaves.tolist(), strict=True)):
            yield slice(end - size - number, end - number - 1), slice(end - size, end)

    @classmethod
    def empty(cls) -> Trees:
        """Return the trees of a judge that has none."""
        return cls((), **{name: np.zeros(0, kind) for name, kind in TENSORS.items()})

    def predict(self, features: np.ndarray) -> Floats:
        """Return the sum of the leaf values of each row, shape (n,), from the columns `self.features`, shape (n, features)."""
        total = np.zeros(len(features))
        for start in range(0, len(features), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            for block in self._blocks:
                total[rows] = _add_leaves(block, features[rows], total[rows])
        return total

    @cached_property
    def _blocks(self) -> list[_Block]:
        slices = list(self._slices())
        return [self._prepare(slices[start : start + BLOCK_TREES]) for start in range(0, len(slices), BLOCK_TREES)]

    def _prepare(self, slices: Sequence[tuple[slice, slice]]) -> _Block:
        bits = max(8, 1 << (max(leaves.stop - leaves.start for _, leaves in slices) - 1).bit_length())
        values = np.zeros((len(slices), bits))
        # Feature → threshold, tree, and the bits of the leaves that remain on the right, of each of its splits.
        splits: dict[int, list[tuple[float, int, int]]] = {}
        for tree, (nodes, leaves) in enumerate(slices):
            order, left_leaves = _order_leaves(self.left_child[nodes].tolist(), self.right_child[nodes].tolist())
            values[tree, : len(order)] = self.leaf_value[leaves][order]
            tests = zip(self.split_feature[nodes].tolist(), self.threshold[nodes].tolist(), left_leaves, strict=True)
            for feature, threshold, (start, end) in tests:
                splits.setdefault(feature, []).append((threshold, tree, (1 << bits) - 1 - ((1 << end) - (1 << start))))
        thresholds, tables = [], []
        for entries in splits.values():
            split_thresholds, trees, remaining = zip(*entries, strict=True)
            distinct, interval = np.unique(split_thresholds, return_inverse=True)
            table = np.full((len(distinct) + 1, len(slices)), (1 << bits) - 1, f"uint{bits}")
            np.bitwise_and.at(table, (interval + 1, list(trees)), np.array(remaining, table.dtype))
            thresholds.append(distinct)
            tables.append(np.bitwise_and.accumulate(table, axis=0))
        return _Block(list(splits), thresholds, tables, values)

    def __add__(self, other: Trees) -> Trees:
        """Return the trees of both, which test the same features."""
        assert self.features == other.features
        return Trees(self.features, *(np.concatenate([getattr(self, name), getattr(other, name)]) for name in TENSORS))

    @classmethod
    def from_text(cls, text: str) -> Trees:
        """Return trees that LightGBM trained in this process, from its text; not for files, whose numbers are not checked here."""
        header, *sections = text.partition("\nend of trees\n")[0].split("\nTree=")
        trees = [dict(line.split("=", 1) for line in section.splitlines()[1:] if line) for section in sections]
        features = next(line.removeprefix("feature_names=") for line in header.splitlines() if line.startswith("feature_names="))
        arrays = {
            name: np.array(" ".join(tree.get(name, "") for tree in trees).split()).astype(kind) for name, kind in TENSORS.items()
        }
        return cls(tuple(features.split()), **arrays)

    def save(self, path: Path) -> None:
        """Write the arrays to a file."""
        save_file({name: getattr(self, name) for name in TENSORS}, path, {FEATURES_KEY: json.dumps(self.features)})

    @classmethod
    def load(cls, path: Path) -> Trees:
        """Read a file. Raises ValueError or OSError: it is not one of trees; says why."""
        try:
            with safe_open(path, "np") as file:
                tensors = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
                if {name: (tensor.get_dtype(), len(tensor.get_shape())) for name, tensor in tensors.items()} != {
                    name: (SAFETENSORS_TYPES[kind], 1) for name, kind in TENSORS.items()
                }:
                    raise ValueError(f"does not have the arrays {', '.join(TENSORS)}")
                features = json.loads((file.metadata() or {}).get(FEATURES_KEY, "null"))
                arrays = {name: file.get_tensor(name) for name in TENSORS}
        except (SafetensorError, RecursionError) as error:
            raise ValueError(str(error)) from error
        if not isinstance(features, list) or not all(isinstance(name, str) for name in features):
            raise ValueError("does not name its features")
        return cls(tuple(features), **arrays)


def _order_leaves(left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the leaves from left to right, and for each split the range of them that lies below its left child."""
    if not left:
        return [0], []
    order: list[int] = []
    ranges = [(0, 0)] * len(left)
    # Node, and whether its left part is done already.
    stack = [(0, False)]
    while stack:
        node, is_left_done = stack.pop()
        if node < 0:
            order.append(-1 - node)
        elif is_left_done:
            ranges[node] = ranges[node][0], len(order)
            stack.append((right[node], False))
        else:
            ranges[node] = len(order), len(order)
            stack += [(node, True), (left[node], False)]
    return order, ranges


def _add_leaves(block: _Block, features: np.ndarray, total: Floats) -> Floats:
    """Return `total` plus the leaf value of each tree, one after the other, so that a sum does not depend on the other rows."""
    trees, bits = block.values.shape
    remaining = np.full((len(features), trees), (1 << bits) - 1, f"uint{bits}")
    for column, thresholds, leaves in zip(block.columns, block.thresholds, block.leaves, strict=True):
        remaining &= leaves[np.searchsorted(thresholds, features[:, column])]
    # The number of bits below the lowest one that is set.
    leaf = np.bitwise_count(~remaining & (remaining - 1))
    values = block.values[np.arange(trees), leaf]
    values[:, 0] += total
    return np.cumsum(values, axis=1)[:, -1]
