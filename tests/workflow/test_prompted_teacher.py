"""A prompted language model teaches an encoder: a tiny one with random weights, so only the way is tested and not the verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.workspace import Workspace

from bert_judge import tables
from bert_judge.judges.prompted import PROBABILITY

pytestmark = pytest.mark.workflow

LABELS = "results/labels/teacher/weak/mini_test.parquet"
PUPIL = "results/judges/pupil/judge.json"


def test_a_prompted_teacher_labels_and_trains(run: Workspace, tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "tiny", window=4096)
    config = run.config
    config["judges"]["teacher"] = {
        "kind": "llm",
        "model": {"generator": "hf", "model": str(model), "dtype": "float32"},
        "reasoning": False,
    }
    config["datasets"]["taught"] = {"teacher": "teacher", "tasks": ["mini_train"], "models": ["solid"], "validation_fraction": 0.2}
    pupil = {**config["judges"]["encoder"], "dataset": "taught", "training": {"epochs": 1, "batch_size": 8}}
    config["judges"]["pupil"] = pupil
    run.configure(config)
    run.done(LABELS, PUPIL)
    labels = tables.read(run.folder / LABELS, tables.LABELS)
    assert len(labels) == 30
    assert set(labels["reason"]) == {PROBABILITY}
    assert labels["score"].between(0, 1, inclusive="neither").all()
    assert tables.provenance(run.folder / LABELS)["revisions"]["teacher"].startswith("local:")
    assert run.done("--dry-run", LABELS, PUPIL).idle
    # Another threshold is another reading of answers that are paid for.
    config["judges"]["teacher"]["threshold"] = float(labels["score"].max())
    run.configure(config)
    assert run.done(LABELS).jobs == {"Verdicts of teacher on weak, mini_test"}
    assert "30 of 30 answers are already done" in run.log("labels/teacher/weak/mini_test")
    assert 1 <= (tables.read(run.folder / LABELS, tables.LABELS)["verdict"] == "correct").sum() < 30
