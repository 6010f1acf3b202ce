"""FSDP as configs/accelerate/fsdp.yaml asks for it, on one GPU: what comes out is an ordinary model, also after a kill."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import interrupted
import pytest
import torch
import yaml
from safetensors.torch import load_file
from test_pair_tuning import Pairs

from bert_judge.candidates.finetuning import launch
from bert_judge.judges.pairwise import Pair
from bert_judge.judges.pairwise.llm import load_pair_judge
from bert_judge.judges.pairwise.train import tune_pair_judge
from bert_judge.runtime.errors import InputError

pytestmark = pytest.mark.gpu

FSDP = Path(__file__).parents[2] / "configs/accelerate/fsdp.yaml"
# 9 pairs 20 times, with a checkpoint after each 10 steps.
SETTINGS: dict[str, Any] = {"method": "full", "epochs": 20, "batch_size": 4, "learning_rate": 5e-3}
STEPS, SAVED, KILLED = 45, 10, 15
# Plain loading of two folders: without accelerate, which may have left its mark on the weights.
LOAD = """
import json, sys
sys.modules["accelerate"] = None
import torch
from transformers import AutoModelForCausalLM
for folder in sys.argv[1:]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    logits = model(input_ids=torch.arange(12).reshape(2, 6)).logits
    print(json.dumps({"shape": list(logits.shape), "finite": bool(logits.isfinite().all())}))
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The configuration of accelerate as it is delivered, but for a single process."""
    path = tmp_path_factory.mktemp("accelerate") / "one.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(FSDP.read_text()), "num_processes": 1}))
    return str(path)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """In all of them A is better."""
    return Pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def learnt(pairs: Pairs, one: str) -> Path:
    """A judge that FSDP fitted without a disturbance. Tests must not change it."""
    launch_stage(tune_pair_judge, pairs.asked("learnt", **SETTINGS), one)
    return pairs.folder / "learnt"


def launch_stage(stage: Any, arguments: dict[str, Any], config: str) -> None:
    """A stage in processes that find this checkout and these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        launch.run(stage, arguments, config)


def moved(weights: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> float:
    return sum(float((values.float() - others[name].float()).norm()) for name, values in weights.items())


def test_it_learns_and_leaves_an_ordinary_model(pairs: Pairs, learnt: Path) -> None:
    before, after = (load_file(folder / "model.safetensors") for folder in (pairs.base, learnt))
    shapes = [{name: (values.shape, values.dtype) for name, values in weights.items()} for weights in (before, after)]
    assert shapes[0] == shapes[1]
    assert all(values.isfinite().all() for values in after.values())
    figures = json.loads((learnt / "metrics.json").read_text())["training"]
    assert figures["steps"] == STEPS
    # What stands first wins by far, which no untrained model says.
    [found] = load_pair_judge(learnt / "judge.json", "judge").compare([Pair("Neu?", "x", "y")])
    assert found.raw == "9 1" and found.forward.score is not None and found.forward.score > 0.9
    assert not (pairs.folder / ".work-learnt").exists()


def test_transformers_alone_reads_what_was_saved(pairs: Pairs, learnt: Path) -> None:
    told = subprocess.run([sys.executable, "-c", LOAD, str(pairs.base), str(learnt)], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    base, made = map(json.loads, told.stdout.splitlines())
    assert made == base and made["finite"]


def test_a_killed_run_goes_on_from_its_last_checkpoint(
    pairs: Pairs, learnt: Path, one: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = pairs.asked("killed", **SETTINGS)
    with pytest.raises(InputError, match="accelerate ended with status"):
        launch_stage(interrupted.tune_and_die, {"step": KILLED, **asked}, one)
    assert not (pairs.folder / "killed").exists()
    with caplog.at_level(logging.INFO, "bert_judge"):
        launch_stage(tune_pair_judge, asked, one)
    assert f"resuming from step {SAVED}" in caplog.text
    assert json.loads((pairs.folder / "killed/metrics.json").read_text())["training"]["steps"] == STEPS
    whole, resumed, before = (load_file(folder / "model.safetensors") for folder in (learnt, pairs.folder / "killed", pairs.base))
    # A GPU may add in another order; without the optimiser's state the two would lie as far apart as a good part of the way.
    assert moved(resumed, whole) < 0.05 * moved(whole, before)
