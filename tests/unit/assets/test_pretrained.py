"""A folder that is not whole is refused, where transformers would go on with random numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import tiny_models
from safetensors.torch import load_file, save_file

from bert_judge.assets import pretrained
from bert_judge.runtime.errors import InputError

WEIGHTS = "model.safetensors"


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def keep(folder: Path, wanted: Callable[[str], bool]) -> None:
    """Leave some of the tensors in the file of weights."""
    tensors = load_file(folder / WEIGHTS)
    save_file({name: tensor for name, tensor in tensors.items() if wanted(name)}, folder / WEIGHTS, {"format": "pt"})


def cut(folder: Path) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])


def without_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()


BREAKS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (cut, "not a readable model"),
    "empty": (lambda folder: (folder / WEIGHTS).write_bytes(b""), "not a readable model"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "has no weights"),
    "no tokenizer": (without_tokenizer, "has no tokenizer"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
    "config of nothing": (lambda folder: (folder / "config.json").write_text("{}"), "not a readable model"),
    "unknown model": (lambda folder: change(folder / "config.json", model_type="none"), "not a readable model"),
    "wider": (lambda folder: change(folder / "config.json", hidden_size=48), "missing or of another shape"),
    "deeper": (lambda folder: change(folder / "config.json", num_hidden_layers=5), r"'[\w.]*layer\.2\."),
    "fewer words": (lambda folder: change(folder / "config.json", vocab_size=50), r"word_embeddings.*\(1 such"),
    "no layer": (lambda folder: keep(folder, lambda name: "layer.1." not in name), r"layer\.1\."),
}


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize(
    "read",
    [
        lambda folder: pretrained.load_backbone(folder, torch.float32),
        lambda folder: pretrained.load_classifier(folder, 2, new_head=True),
        lambda folder: pretrained.load_classifier(folder, 2, new_head=False),
    ],
    ids=["backbone", "new head", "judge"],
)
def test_a_folder_that_is_not_whole_gives_one_line(tmp_path: Path, broken: str, read: Callable[[Path], Any]) -> None:
    folder = tiny_models.encoder(tmp_path / "größe")
    breaks, says = BREAKS[broken]
    breaks(folder)
    with pytest.raises(InputError, match=says) as caught:
        pretrained.load_tokenizer(folder)
        read(folder)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
@pytest.mark.parametrize("labels", [1, 3])
def test_only_a_new_head_may_have_another_shape(tmp_path: Path, architecture: str, labels: int) -> None:
    folder = tiny_models.encoder(tmp_path, architecture, labels=labels)
    model = pretrained.load_classifier(folder, 2, new_head=True)
    assert model.config.num_labels == 2
    with torch.inference_mode():
        assert model(torch.tensor([[5, 6, 7]])).logits.shape == (1, 2)
    with pytest.raises(InputError, match=r"'(classifier|score)\.[\w.]+' is missing or of another shape \([12] such"):
        pretrained.load_classifier(folder, 2, new_head=False)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_the_head_and_what_stands_below_it_may_be_new(tmp_path: Path, architecture: str) -> None:
    """As in a folder of a masked language model, which has neither."""
    folder = tiny_models.encoder(tmp_path, architecture)
    above = ("classifier", "pooler", "head", "dense")
    keep(folder, lambda name: not name.startswith(above) and ".pooler." not in name)
    assert pretrained.load_classifier(folder, 2, new_head=True)
    assert pretrained.load_backbone(folder, torch.float32)
    with pytest.raises(InputError, match="missing"):
        pretrained.load_classifier(folder, 2, new_head=False)


@pytest.mark.parametrize(
    "rename",
    [
        lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
        lambda name: name.removeprefix("bert."),
    ],
    ids=["of the first checkpoints", "without the prefix"],
)
def test_tensors_under_older_names_are_found(tmp_path: Path, rename: Callable[[str], str]) -> None:
    folder = tiny_models.encoder(tmp_path)
    before = pretrained.load_backbone(folder, torch.float32).state_dict()
    tensors = {rename(name): tensor for name, tensor in load_file(folder / WEIGHTS).items() if name.startswith("bert.")}
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    torch.testing.assert_close(pretrained.load_backbone(folder, torch.float32).state_dict(), before, rtol=0, atol=0)
    torch.testing.assert_close(pretrained.load_classifier(folder, 2, new_head=True).base_model.state_dict(), before, rtol=0, atol=0)
