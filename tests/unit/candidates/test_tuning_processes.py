"""A training in several processes: the command for eight GPUs, and two processes on a CPU that learn what one learns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from helpers import tiny_models

from bert_judge.candidates import tuning
from bert_judge.candidates.generators.hf import load_model
from bert_judge.candidates.tuning import Example, tune
from bert_judge.config import HFModel, Tuning
from bert_judge.runtime.errors import InputError

EXAMPLES = [Example([5 + n, 6, 7], [8 + n % 3, 9]) for n in range(24)]


def settings(**changes: object) -> Tuning:
    return Tuning.model_validate(
        {"epochs": 1.0, "batch_size": 8, "learning_rate": 1e-2, "lora": {"rank": 4, "alpha": 8, "dropout": 0.0}, **changes}
    )


def test_accelerate_accepts_the_command_for_eight_gpus(tmp_path: Path) -> None:
    command = tuning.launch_command(8, tmp_path)
    assert command[:3] == [sys.executable, "-m", "accelerate.commands.launch"]
    arguments, *_ = _validate_launch_command(launch_command_parser().parse_args(command[3:]))
    assert (arguments.num_processes, arguments.use_fsdp, arguments.mixed_precision) == (8, True, "bf16")
    assert (arguments.fsdp_version, arguments.fsdp_state_dict_type) == (2, "FULL_STATE_DICT")
    assert arguments.module and [arguments.training_script, *arguments.training_script_args] == [tuning.__name__, str(tmp_path)]


@pytest.mark.parametrize("method", ["lora", "full"])
def test_two_processes_learn_what_one_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def launch(processes: int, folder: Path) -> list[str]:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        return [sys.executable, *launcher, "-m", tuning.__name__, str(folder)]

    monkeypatch.setattr(tuning, "launch_command", launch)
    base = tiny_models.causal_lm(tmp_path / "base")
    weights, losses = {}, {}
    for processes in (0, 1, 2):
        loaded = load_model("tiny", HFModel(generator="hf", model=str(base)).model_dump(), base)
        if processes:
            model, metrics = tune(loaded, EXAMPLES, settings(method=method, processes=processes), tmp_path / str(processes))
            assert metrics["steps"] == 3
            losses[processes] = metrics["loss"]
        else:
            model = tuning._trainable(loaded.model, settings(method=method))
        named = sorted((name, each) for name, each in model.named_parameters() if method == "full" or "lora" in name)
        weights[processes] = torch.cat([each.detach().float().flatten() for _, each in named])
    assert losses[2] == pytest.approx(losses[1], abs=0.01)
    # AdamW moves a weight by the sign of its gradient, however small; so some rounding shows.
    assert (weights[2] - weights[1]).norm() < 0.25 * (weights[1] - weights[0]).norm()


def test_a_batch_that_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    base = tiny_models.causal_lm(tmp_path / "base")
    loaded = load_model("tiny", HFModel(generator="hf", model=str(base)).model_dump(), base)
    with pytest.raises(InputError, match=r"training.batch_size: 8 is no multiple of processes \(3\)"):
        tune(loaded, EXAMPLES, settings(processes=3), tmp_path / "work")
