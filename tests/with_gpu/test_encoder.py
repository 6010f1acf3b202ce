"""An encoder on a GPU says what it says on the CPU, in any company, learns there, and goes on after a kill."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import interrupted
import numpy as np
import pytest
import torch
from helpers import tiny_models
from helpers.trainings import SETTINGS, problem
from transformers import Trainer

from bert_judge.encoder import checkpoint, trainer
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.inference import Engine
from bert_judge.judges.bert.judge import BERTJudge

pytestmark = pytest.mark.gpu

QUESTION = "What is the capital of France?"
CANDIDATES = ["Paris", "It is Paris, I think.", "no " * 40, "Größe 東京", "", "the capital of Mars is a fox " * 9, "noon", "Mars"]
# Of the largest logit. bfloat16 keeps 8 bits of every number on the way.
NEAR = {"bfloat16": 3e-2, "float32": 1e-4}
# The same rows in other company.
SAME = {"bfloat16": 1e-2, "float32": 1e-5}
# Scores of a judge by a process that sees no GPU.
SCORE = """
import json, sys
import torch
from bert_judge.judges.bert.judge import BERTJudge
assert not torch.cuda.is_available()
rows = json.load(sys.stdin)
print(json.dumps(BERTJudge(sys.argv[1], backend="torch", precision="float32").predict(**rows)))
"""


@pytest.fixture(scope="module", params=["bert", "eurobert", "modernbert"])
def learnt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that learnt on the GPU, so that its logits differ as those of judges do. Tests must not change it."""
    folder = tmp_path_factory.mktemp(request.param)
    loaded, examples = problem(tiny_models.encoder(folder / "backbone", request.param))
    trainer.fit(loaded, examples, SETTINGS, folder / "work")
    loaded.save(folder / "judge")
    return folder / "judge"


def rows_of(loaded: Checkpoint) -> list[EncodedRow]:
    return loaded.encoder.encode([QUESTION] * len(CANDIDATES), CANDIDATES, ["Paris"] * len(CANDIDATES))


def one_by_one(loaded: Checkpoint, rows: list[EncodedRow]) -> np.ndarray:
    """logit₁ − logit₀ of each row alone, by the model as it stands and nothing else, shape (n,)."""
    found = []
    for row in rows:
        inputs = {"input_ids": torch.tensor([row.ids])}
        if getattr(loaded.model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = torch.tensor([row.types])
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[0].double()
        found.append(float(logits[1] - logits[0]))
    return np.array(found)


@pytest.mark.parametrize("precision", NEAR)
def test_the_gpu_says_what_the_cpu_says(learnt: Path, precision: str) -> None:
    loaded = checkpoint.load(learnt)
    rows = rows_of(loaded)
    expected = one_by_one(loaded, rows)
    assert np.ptp(expected) > 1, "the rows must differ, or the test says nothing"
    engine, tolerance = Engine(loaded, precision=precision), NEAR[precision] * float(np.abs(expected).max())
    np.testing.assert_allclose(engine.logits(rows), expected, rtol=0, atol=tolerance)
    read = engine.score([[row] for row in rows])
    np.testing.assert_allclose(read.logits, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", SAME)
def test_batches_and_order_do_not_change_logits(learnt: Path, precision: str) -> None:
    loaded = checkpoint.load(learnt)
    rows = rows_of(loaded)
    together = Engine(loaded, precision=precision).logits(rows)
    turned = Engine(loaded, precision=precision, batch_tokens=150).logits(rows[::-1])[::-1]
    alone = Engine(loaded, precision=precision, batch_tokens=1).logits(rows)
    tolerance = SAME[precision] * float(np.abs(together).max())
    np.testing.assert_allclose(turned, together, rtol=0, atol=tolerance)
    np.testing.assert_allclose(alone, together, rtol=0, atol=tolerance)


def cross_entropy(loaded: Checkpoint, examples: trainer.Examples) -> float:
    logits, labels = Engine(loaded).logits(examples.rows), np.array(examples.labels)
    return float(np.mean(np.logaddexp(0, logits) - labels * logits))


@pytest.mark.parametrize("architecture", ["bert", "eurobert", "modernbert"])
def test_it_learns_and_goes_on_after_a_kill(
    tmp_path: Path, architecture: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backbone = tiny_models.encoder(tmp_path / "backbone", architecture)
    loaded, examples = problem(backbone)
    before = cross_entropy(loaded, examples)

    class Killed(BaseException):
        """No handler of errors sees it, as none sees a kill."""

    def kill() -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Trainer, "training_step", interrupted.before_step(20, kill))
        trainer.fit(loaded, examples, SETTINGS, tmp_path / "work")
    # 120 steps with a checkpoint after each 12.
    again, examples = problem(backbone)
    with caplog.at_level(logging.INFO, "bert_judge"):
        figures = trainer.fit(again, examples, SETTINGS, tmp_path / "work")
    assert "resuming from step 12" in caplog.text
    assert figures["steps"] == 120
    assert cross_entropy(again, examples) < 0.1 < before


def test_a_judge_of_the_gpu_scores_alike_on_the_cpu(tmp_path: Path) -> None:
    candidates = ["Paris", "Mars", "noon", "fox", "seven", "judges"] * 20
    rows = {"questions": [QUESTION] * 120, "references": [["Paris"]] * 120, "candidates": candidates}
    labels = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0] * 20
    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone"))
    # The trees on lexical features run on the CPU anyway.
    judge.fit(**rows, labels=labels, training=SETTINGS, features=False, work_folder=tmp_path / "work")
    judge.calibrate(**rows, labels=labels)
    judge.save(tmp_path / "judge")
    asked = {"questions": [QUESTION] * 14, "references": [["Paris"]] * 14, "candidates": [*candidates[:6], *CANDIDATES]}
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SCORE, str(tmp_path / "judge")]
    told = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    scores = BERTJudge(tmp_path / "judge").predict(**asked)
    assert np.ptp(scores) > 0.3, "the scores must differ, or the test says nothing"
    np.testing.assert_allclose(json.loads(told.stdout), scores, rtol=0, atol=1e-2)
