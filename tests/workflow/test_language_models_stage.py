"""Fine-tuned language models in the workflow: trained on a dataset and on pairs, they judge, are reported and rerun like others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.workspace import Workspace
from test_pairs_stage import LINES, table

from bert_judge import tables

pytestmark = pytest.mark.workflow

TRAINING = {"epochs": 1, "batch_size": 8, "max_length": 128}


@pytest.fixture(scope="module")
def tuned(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with two fine-tuned language models. Tests must not change its results."""
    folder = tmp_path_factory.mktemp("tuned")
    base = str(tiny_models.causal_lm(folder / "base"))
    run = finished.copy(folder / "run")
    (run.folder / "people.jsonl").write_text("\n".join(map(json.dumps, LINES)), "utf-8")
    config = run.config
    [dataset] = config["datasets"]
    config["imports"] = {"people": {"path": "people.jsonl"}}
    config["judges"]["tuned"] = {"kind": "llm", "dataset": dataset, "base": base, "training": TRAINING}
    config["judges"]["tuned_pairs"] = {"kind": "pairwise", "pairs": "learn", "base": base, "training": TRAINING}
    config["pairs"] = {
        "learn": {"tasks": ["mini_train"], "gold": "truth", "models": ["solid", "weak"]},
        "people": {"from": "people", "judges": ["tuned_pairs"]},
    }
    config["scorers"].append("tuned")
    run.configure(config)
    run.done()
    run.done("preferences")
    return run


def test_both_judge_everything(tuned: Workspace) -> None:
    labels = tables.read(tuned.folder / "results/labels/tuned/solid/mini_test.parquet", tables.LABELS)
    assert labels["score"].between(0, 1).all() and len(labels) > 0
    assert len(table(tuned, "labels/tuned_pairs/pairs/people.parquet")["verdict"]) == len(LINES)
    for judge in ("tuned", "tuned_pairs"):
        folder = tuned.folder / "results/judges" / judge
        assert {"adapter_model.safetensors", "judge.json", "metrics.json", "README.md"} <= {path.name for path in folder.iterdir()}
    assert "tuned" in (tuned.folder / "results/report.html").read_text("utf-8")


def test_a_second_run_has_nothing_to_do(tuned: Workspace) -> None:
    assert not tuned.planned()


def test_other_training_settings_train_again(tuned: Workspace, tmp_path: Path) -> None:
    run = tuned.copy(tmp_path / "run")
    config = run.config
    config["judges"]["tuned"]["training"] = TRAINING | {"seed": 1}
    run.configure(config)
    planned = run.planned()
    assert "Train tuned" in planned and not any("tuned_pairs" in message for message in planned)
