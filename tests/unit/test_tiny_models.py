"""The models that other tests stand on: they load, and they are the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers import tiny_models
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bert_judge.assets.prepare import load_manifest, prepare


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_encoders(architecture: str, tmp_path: Path) -> None:
    folder = tiny_models.encoder(tmp_path, architecture)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    inputs = tokenizer(["What is the capital?", "Größe"], ["Paris", "x"], padding=True, return_tensors="pt")
    assert model.config.model_type == architecture
    assert tokenizer.mask_token_id is not None
    with torch.inference_mode():
        logits = model(**inputs).logits
    assert logits.shape == (2, 2)
    assert logits.isfinite().all()


@pytest.mark.parametrize("make", [tiny_models.encoder, tiny_models.causal_lm])
def test_the_same_every_time(make: object, tmp_path: Path) -> None:
    revisions = []
    for name in ("one", "two"):
        folder = make(tmp_path / name)  # type: ignore[operator]
        prepare({"repository": str(folder), "revision": None, "remote_code": False}, tmp_path / f"{name}.json")
        revisions.append(load_manifest(tmp_path / f"{name}.json").revision)
    assert revisions[0] == revisions[1]
