"""A language model is fine-tuned as a judge on a GPU and judges there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.trainings import ROW, train

from bert_judge.assets.prepare import prepare
from bert_judge.judges.llm.fine_tuned import DEFAULTS, FineTunedJudge

pytestmark = pytest.mark.gpu


def test_twenty_steps(tmp_path: Path) -> None:
    base = tiny_models.causal_lm(tmp_path / "model")
    prepare({"repository": str(base), "revision": None, "remote_code": False}, tmp_path / "base.json")
    folder = train(tmp_path / "t", tmp_path / "base.json", rows=40)
    assert json.loads((folder / "metrics.json").read_text("utf-8"))["training"]["steps"] == 20
    judge = FineTunedJudge.load(folder, "mine", DEFAULTS)
    assert judge.generator.loaded.model.device.type == "cuda"
    assert 0 < (judge.judge([ROW])[0].score or 0) < 1
