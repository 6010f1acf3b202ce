"""Check LightGBM's text format before LightGBM reads it.

LightGBM trusts a file: sizes and indices out of range abort the process, or read other memory. Trees may come from a stranger, so
every number is checked here, and only what was checked is passed on.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

NUMBERS = re.compile(r"[-+.0-9e ]*")
END = "\nend of trees\n"
HEADER = {"version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"}
HEADER_LISTS = {"feature_names", "feature_infos", "tree_sizes"}
CONSTRAINTS = "monotone_constraints"
FIXED = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0", "objective": "cross_entropy"}
SPLIT_LISTS = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
NODE_LISTS = ("internal_value", "internal_weight", "internal_count")
LEAF_LISTS = ("leaf_value", "leaf_weight", "leaf_count")
SCALARS = ("num_leaves", "num_cat", "is_linear", "shrinkage")


def check_trees(text: str) -> str:
    """Return header and trees of a file, without the settings of their training. Raises ValueError: names a malformed part."""
    checked, end, _ = text.partition(END)
    if not end:
        raise ValueError("is truncated: it has no end of trees")
    header_text, *trees = re.split(r"(?=\nTree=)", checked)
    first, *lines = header_text.strip("\n").split("\n")
    header = _parse_lines(lines)
    if first != "tree" or not HEADER | HEADER_LISTS <= header.keys() <= HEADER | HEADER_LISTS | {CONSTRAINTS}:
        raise ValueError("its header has missing or unknown lines")
    if unexpected := [key for key, value in FIXED.items() if header[key] != value]:
        raise ValueError(f"its {unexpected[0]} is {header[unexpected[0]]!r:.40}, not {FIXED[unexpected[0]]!r}")
    num_features = len(header["feature_names"].split(" "))
    if header["max_feature_idx"] != str(num_features - 1) or len(header["feature_infos"].split(" ")) != num_features:
        raise ValueError("its header has different numbers of features")
    if CONSTRAINTS in header:
        _parse_numbers(header, CONSTRAINTS, num_features)
    # LightGBM finds the trees by their sizes. The split left the last line feed of each tree to the next one.
    if _parse_numbers(header, "tree_sizes", len(trees)).tolist() != [len(tree) for tree in trees]:
        raise ValueError("its tree_sizes are not the sizes of its trees")
    for number, tree in enumerate(trees):
        name, *lines = tree.strip("\n").split("\n")
        if name != f"Tree={number}":
            raise ValueError(f"{name!r:.40} is not tree {number}")
        try:
            _check_tree(_parse_lines(lines), num_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
    return f"{checked}{END}\npandas_categorical:null\n"


def _parse_lines(lines: Sequence[str]) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in lines:
        key, separator, value = line.partition("=")
        if not separator or key in entries:
            raise ValueError(f"the line {line!r:.40} is malformed or repeated")
        entries[key] = value
    return entries


def _parse_numbers(entries: Mapping[str, str], key: str, count: int) -> np.ndarray:
    text = entries.get(key, "")
    values = np.array(text.split(), float) if NUMBERS.fullmatch(text) else np.array([np.nan])
    if not np.isfinite(values).all():
        raise ValueError(f"{key} contains something other than numbers")
    if len(values) != count:
        raise ValueError(f"{key} has {len(values):,} numbers instead of {count:,}")
    return values


def _check_tree(entries: Mapping[str, str], num_features: int) -> None:
    """Refuse a tree whose nodes are not those of one binary tree, or that tests a feature which does not exist."""
    if not entries.keys() <= {*SCALARS, *SPLIT_LISTS, *NODE_LISTS, *LEAF_LISTS}:
        raise ValueError("has unknown lines")
    scalars = {key: float(_parse_numbers(entries, key, 1)[0]) for key in SCALARS}
    if scalars["num_cat"] or scalars["is_linear"]:
        raise ValueError("has categorical splits or linear leaves, which judges do not use")
    values = entries.get("leaf_value", "").split()
    if scalars["num_leaves"] != len(values) or not values:
        raise ValueError(f"num_leaves is {entries['num_leaves']:.20}, but leaf_value has {len(values):,} numbers")
    for key in LEAF_LISTS:
        if key == "leaf_value" or entries.get(key):
            _parse_numbers(entries, key, len(values))
    splits = {key: _parse_numbers(entries, key, len(values) - 1) for key in SPLIT_LISTS}
    for key in NODE_LISTS:
        if entries.get(key):
            _parse_numbers(entries, key, len(values) - 1)
    if len(values) == 1:
        return
    features, kinds = splits["split_feature"], splits["decision_type"]
    if not np.isin(features, np.arange(num_features)).all() or not np.isin(kinds, np.arange(0, 16, 2)).all():
        raise ValueError("splits on a feature that does not exist, or in an unknown way")
    # Every node but the root, and every leaf, has one parent, which comes before it: no cycle, and nothing out of range.
    children, parents = np.concatenate([splits["left_child"], splits["right_child"]]), np.tile(np.arange(len(features)), 2)
    are_complete = np.array_equal(np.sort(children), np.concatenate([np.arange(-len(values), 0), np.arange(1, len(features))]))
    if not are_complete or (children[children >= 0] <= parents[children >= 0]).any():
        raise ValueError("its nodes do not form a tree")
