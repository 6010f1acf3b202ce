"""A judge's folder may come from a stranger: whatever is in it, it loads or is refused in one line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder import judge_folder
from bert_judge.encoder.checkpoint import WEIGHTS_FILE
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.tree_file import check_trees
from bert_judge.runtime.errors import InputError

TREES = (GENERAL_FOLDER / "features.txt").read_text("utf-8")
# The header and the first two trees of the general judge.
HEADER, FIRST, SECOND = re.split(r"(?=\nTree=)", TREES.partition("\nend of trees\n")[0])[:3]


def with_trees(*trees: str) -> str:
    sizes = " ".join(str(len(tree)) for tree in trees)
    return re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", HEADER) + "".join(trees) + "\nend of trees\n"


def change(pattern: str, new: str) -> str:
    return with_trees(re.sub(pattern, new, FIRST, count=1), SECOND)


def test_trees_that_lightgbm_wrote_pass_unchanged() -> None:
    assert check_trees(TREES).partition("\nend of trees\n")[0] == TREES.partition("\nend of trees\n")[0]
    assert check_trees(with_trees(FIRST, SECOND))
    assert check_trees(
        with_trees("\nTree=0\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nleaf_value=0.5\nis_linear=0\nshrinkage=1\n\n")
    )


# Each of these but the last few ended the process inside LightGBM, or read memory out of range.
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TREES[:3000], "truncated"),
        (TREES[:400_000] + "\nend of trees\n", "tree_sizes has 500 numbers instead of"),
        (TREES.replace("num_leaves=15", "num_leaves=1", 1), "tree_sizes are not the sizes"),
        (change("num_leaves=15", "num_leaves=2000000000"), "num_leaves is 2000000000, but leaf_value has 15"),
        (change(r"left_child=\S+", "left_child=0"), "do not form a tree"),
        (change(r"left_child=(\S+ \S+) \S+", r"left_child=\1 1"), "do not form a tree"),
        (change(r"left_child=\S+", "left_child=900"), "do not form a tree"),
        (change(r"right_child=\S+", "right_child=-900"), "do not form a tree"),
        (change(r"split_feature=\S+", "split_feature=41"), "feature that does not exist"),
        (change(r"split_feature=\S+", "split_feature=-1"), "feature that does not exist"),
        (change(r"decision_type=\S+", "decision_type=1"), "unknown way"),
        (change(r"threshold=\S+", "threshold=nan"), "something other than numbers"),
        (change(r"threshold=\S+ ", "threshold="), "threshold has 13 numbers instead of 14"),
        (change("num_cat=0", "num_cat=1\ncat_boundaries=0 99999999\ncat_threshold=1"), "unknown lines"),
        (change("is_linear=0", "is_linear=1"), "linear leaves"),
        (change("num_cat=0", "num_cat=0\nnum_cat=0"), "malformed or repeated"),
        (with_trees(SECOND, FIRST), "is not tree 0"),
        (TREES.replace("max_feature_idx=40", "max_feature_idx=4000000"), "different numbers of features"),
        (TREES.replace("num_class=1", "num_class=1000000"), "num_class is '1000000'"),
        (TREES.replace("objective=cross_entropy", "objective=multiclass num_class:9"), "objective is"),
        (TREES.replace("num_class=1", "num_class=1\naverage_output"), "malformed or repeated"),
        (TREES.replace("tree_sizes=", "tree_sizes=9 "), "tree_sizes has 501 numbers instead of 500"),
    ],
)
def test_altered_trees_are_refused_before_lightgbm_sees_them(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_trees(text)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(GENERAL_FOLDER, tmp_path_factory.mktemp("judges") / "stranger"))


def write(file: str, text: str) -> Callable[[Path], None]:
    def alter(folder: Path) -> None:
        # The files are links to those of the other tests.
        (folder / file).unlink(missing_ok=True)
        (folder / file).write_text(text, "utf-8")

    return alter


def set_key(file: str, key: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: write(file, json.dumps(json.loads((folder / file).read_text("utf-8")) | {key: value}))(folder)


def set_tensor(name: str, tensor: torch.Tensor) -> Callable[[Path], None]:
    def alter(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS_FILE)
        (folder / WEIGHTS_FILE).unlink()
        save_file({**tensors, name: tensor}, folder / WEIGHTS_FILE)

    return alter


def pickle_weights(folder: Path) -> None:
    torch.save({}, folder / "pytorch_model.bin")
    (folder / WEIGHTS_FILE).unlink()


def link_weights(folder: Path) -> None:
    (folder / WEIGHTS_FILE).rename(folder.parent / "elsewhere")
    (folder / WEIGHTS_FILE).symlink_to(folder.parent / "elsewhere")


def publish_and_alter(folder: Path) -> None:
    judge_folder.write_checksums(folder)
    set_key("judge.json", "temperature", 2.0)(folder)


SCALE = "bert.encoder.layer.0.output.dense.weight.scale"


@pytest.mark.parametrize(
    ("alter", "problem"),
    [
        (set_key("judge.json", "temperature", 0), r"judge\.json: broken: temperature: .*greater than 0"),
        (set_key("judge.json", "temperature", "1"), r"judge\.json: broken: temperature: .*number"),
        (set_key("judge.json", "stacker", {"encoder": 1}), r"judge\.json: broken: stacker\.features: .*required"),
        (set_key("judge.json", "logit_bounds", {"trees": [2, 1], "low": [0, 0], "mean": [0, 0], "high": [0, 0]}), "ascending"),
        (set_key("judge.json", "unknown", 1), r"judge\.json: broken: unknown: "),
        (write("judge.json", "[" * 100_000), r"judge\.json: broken: "),
        (write("judge.json", '{"input": {}, "temperature": NaN}'), r"judge\.json: broken: temperature"),
        (set_key("config.json", "num_hidden_layers", 10**9), "describes a larger model"),
        (set_key("config.json", "vocab_size", 10**9), "describes a larger model"),
        (set_key("config.json", "intermediate_size", 999), "not a readable judge"),
        (set_key("config.json", "model_type", "no_such"), "not a readable"),
        (write("config.json", "{"), "not a readable"),
        (write("tokenizer.json", "{}"), "not a readable model"),
        (write(WEIGHTS_FILE, "short"), "not a readable"),
        (set_tensor(SCALE, torch.ones(1, 100_000)), "has the shape"),
        (set_tensor("bert.pooler.dense.bias", torch.ones(3)), "not a readable judge"),
        (pickle_weights, "needs weights in safetensors"),
        (link_weights, "is a link to a file outside the judge's folder"),
        (publish_and_alter, "is not the file that was published"),
        (write(judge_folder.CHECKSUMS, "x"), "SHA256SUMS"),
        (write(judge_folder.CHECKSUMS, "0  ../x\n"), r"x: is not the file that was published"),
        (write("features.txt", change(r"left_child=\S+", "left_child=0")), r"features\.txt: not readable: tree 0: .*do not form"),
    ],
)
def test_altered_folders_are_refused_in_one_line(
    stranger: Path, tmp_path: Path, alter: Callable[[Path], None], problem: str
) -> None:
    folder = tmp_path / "judge"
    folder.mkdir()
    for file in stranger.iterdir():
        if file.is_file():
            (folder / file.name).hardlink_to(file)
    alter(folder)
    with pytest.raises(InputError, match=problem) as caught:
        BERTJudge(folder, backend="torch", precision="float32")
    assert "\n" not in str(caught.value)


def test_a_published_folder_and_a_snapshot_of_the_hub_load(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    shutil.copytree(GENERAL_FOLDER, blobs)
    judge_folder.write_checksums(blobs)
    for file in blobs.iterdir():
        if file.is_file():
            (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    assert BERTJudge(snapshot, backend="torch", precision="float32").predict(["Capital?"], ["Paris"], ["Paris"])[0] > 0.5
