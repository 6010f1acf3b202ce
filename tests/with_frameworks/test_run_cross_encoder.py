"""sentence-transformers itself: a published judge as a CrossEncoder gives the judge's raw scores."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from helpers import tiny_models

from bert_judge.config import Input, Training
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.report import hub_folder

pytestmark = pytest.mark.framework("sentence_transformers")
ROWS = (["Capital of France?", "Größe?", "q"], ["Paris", "東京", "b"], ["It is Paris.", "naïve Ω", "a fox"])


@pytest.mark.parametrize("architecture", ["bert", "eurobert"])
def test_a_cross_encoder_gives_the_raw_scores(tmp_path: Path, architecture: str) -> None:
    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone", architecture), input=Input())
    rows = [list(part) for part in ROWS]
    judge.fit(*rows, [1.0, 0.0, 0.3], training=Training(epochs=1), features=True, work_folder=tmp_path / "work")
    judge.calibrate(*rows, [1.0, 0.0, 0.0])
    judge.save(tmp_path / "judge")
    hub_folder.write(tmp_path / "judge", tmp_path / "published", "judge")
    pairs = [hub_folder.tokenizer_inputs(judge, *row) for row in zip(*ROWS, strict=True)]
    encoder = importlib.import_module("sentence_transformers").CrossEncoder(str(tmp_path / "published"), device="cpu")
    found = encoder.predict(pairs, apply_softmax=True, show_progress_bar=False)[:, 1]
    expected = BERTJudge(tmp_path / "judge", precision="float32").explain(*rows).raw_scores
    np.testing.assert_allclose(found, expected, atol=1e-5)
