"""A judge's folder may come from a stranger: whatever is in it, it loads or is refused in one line."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder import judge_folder
from bert_judge.encoder.weights import INPUTS_FILE, WEIGHTS_FILE
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime.errors import InputError


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ignore = shutil.ignore_patterns(judge_folder.CHECKSUMS)
    return Path(shutil.copytree(GENERAL_FOLDER, tmp_path_factory.mktemp("judges") / "stranger", ignore=ignore))


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


def pickle_alone(folder: Path) -> None:
    """As a backbone of an older repository, with a pickle that would run a command."""
    for file in ("judge.json", WEIGHTS_FILE, INPUTS_FILE, judge_folder.TREES_FILE):
        (folder / file).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")


def link_to_itself(folder: Path) -> None:
    (folder / judge_folder.TREES_FILE).unlink()
    (folder / judge_folder.TREES_FILE).symlink_to(judge_folder.TREES_FILE)


def give_a_token_another_id(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    content["model"]["vocab"]["the"] = 1_000_000
    write("tokenizer.json", json.dumps(content))(folder)


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
        (
            set_tensor("bert.pooler.dense.bias", torch.full((384,), torch.nan)),
            r"'bert\.pooler\.dense\.bias' contain NaN or infinity",
        ),
        (set_tensor(SCALE, torch.full((384, 1), torch.inf)), r"dense\.weight' contain NaN or infinity"),
        (pickle_weights, "needs weights in safetensors"),
        (pickle_alone, "its weights hold more than arrays, or are damaged"),
        (lambda folder: os.mkfifo(folder / "vocab.txt"), r"vocab\.txt: is neither a file nor a folder"),
        (link_to_itself, r"trees\.safetensors: is neither a file nor a folder"),
        (give_a_token_another_id, "its tokenizer has the id 1000000, and the model 30,522 embeddings"),
        (link_weights, "is a link to a file outside the judge's folder"),
        (publish_and_alter, "is not the file that was published"),
        (write(judge_folder.CHECKSUMS, "x"), "SHA256SUMS"),
        (write(judge_folder.CHECKSUMS, "0  ../x\n"), r"x: is not the file that was published"),
        (write(judge_folder.TREES_FILE, "tree\nsplit_feature=90000000e-7"), r"trees\.safetensors: not readable: "),
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
        BERTJudge(folder)
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


def test_a_config_cannot_name_code_to_run(stranger: Path, tmp_path: Path) -> None:
    """Of a repository of compiled kernels, which transformers would fetch."""
    folder = Path(shutil.copytree(stranger, tmp_path / "judge"))
    keys = {"_attn_implementation": "owner/repo", "attn_implementation": "owner/repo", "auto_map": {"AutoConfig": "evil.py"}}
    for key, value in keys.items():
        set_key("config.json", key, value)(folder)
    judges = [BERTJudge(path, backend="torch", precision="float32") for path in (stranger, folder)]
    scores = [judge.predict(["Capital?"], ["Paris"], ["It is Paris"]) for judge in judges]
    assert scores[0] == scores[1]
    implementations = [judge.checkpoint.model.config._attn_implementation for judge in judges]
    assert implementations[0] == implementations[1] != "owner/repo"
