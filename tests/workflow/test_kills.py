"""A run that is killed in the middle, jobs and all, goes on where it was and ends with the same tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers import tiny_models
from helpers.workspace import Workspace
from safetensors.numpy import load_file

from bert_judge.candidates.stage import SHARD_ROWS
from bert_judge.labels import stage

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

QUESTIONS = 1300


def resumed(run: Workspace, *targets: str) -> None:
    """What a person does after a kill, whom Snakemake tells to unlock the folder first."""
    run.done("--unlock")
    run.done(*targets)


def assert_same_table(one: Workspace, other: Workspace, path: str) -> None:
    pd.testing.assert_frame_equal(pd.read_parquet(one.folder / path), pd.read_parquet(other.folder / path))


def test_candidates(tmp_path: Path, fresh: Workspace) -> None:
    model = {"generator": "hf", "model": str(tiny_models.causal_lm(tmp_path / "tiny")), "max_new_tokens": 4}
    config = fresh.config
    config |= {"models": {"tiny": model}, "tasks": {"test": ["long_test"]}, "scorers": ["strict"], "datasets": {}, "gold": None}
    config["judges"] = {"strict": config["judges"]["strict"]}
    fresh.configure(config)
    undisturbed = fresh.copy(tmp_path / "undisturbed")
    undisturbed.done("candidates")

    fresh.kill_when(lambda: bool(fresh.found("results/.work/store/tiny/[0-9a-f]*.parquet")), "candidates")
    assert not fresh.found("results/candidates/tiny/long_test.parquet")
    assert "--unlock" in fresh.run("candidates").text
    resumed(fresh, "candidates")
    assert f"{SHARD_ROWS} of {QUESTIONS} answers are already done" in fresh.log("candidates/tiny/long_test")
    assert_same_table(fresh, undisturbed, "results/candidates/tiny/long_test.parquet")


def test_labels(tmp_path: Path, run: Workspace) -> None:
    config = run.config
    config["tasks"]["test"].append("long_test")
    run.configure(config)
    target = "results/labels/encoder/solid/long_test.parquet"
    undisturbed = run.copy(tmp_path / "undisturbed")
    undisturbed.done(target)

    run.kill_when(lambda: bool(run.found("results/.work/labels/encoder/solid/long_test/*/[0-9a-f]*.parquet")), target)
    assert not run.found(target)
    resumed(run, target)
    assert f"{stage.SHARD_ROWS} of {QUESTIONS} verdicts are already done" in run.log("labels/encoder/solid/long_test")
    assert_same_table(run, undisturbed, target)


def test_training(run: Workspace, finished: Workspace) -> None:
    for path in run.found("results/judges/encoder/*"):
        path.unlink()
    run.kill_when(lambda: run.has_checkpoint("judges/encoder"))
    assert not run.found("results/judges/encoder/judge.json")
    resumed(run)
    assert "resuming from step" in run.log("judges/encoder")
    weights = [load_file(place.folder / "results/judges/encoder/model.safetensors") for place in (run, finished)]
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        assert values == pytest.approx(weights[1][name], abs=1e-6), name
    for model in ("solid", "weak"):
        for path in (f"results/labels/encoder/{model}/mini_test.parquet", f"results/scores/{model}/mini_test.parquet"):
            assert_same_table(run, finished, path)
    assert_same_table(run, finished, "results/standings.parquet")
