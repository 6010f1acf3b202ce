"""TRL itself: GRPO on a judge's scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.framework_files import jsonl
from programs import ROOT, run

pytestmark = pytest.mark.framework("trl")


def test_trl_trains_on_a_judges_scores(tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "model")
    done = run(ROOT / "examples" / "trl_reward.py", model, "token_f1", folder=tmp_path)
    assert 0 <= float(done.splitlines()[-1].removeprefix("mean reward: ")) <= 1


def test_the_command_line_takes_the_reward_by_its_path(tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "model")
    rows = [{"prompt": "What is the capital of France?", "references": ["Paris"]}] * 2
    jsonl(tmp_path / "data" / "train.jsonl", rows)
    options = {"model_name_or_path": model, "dataset_name": tmp_path / "data", "output_dir": tmp_path / "out"}
    options |= {"reward_funcs": "bert_judge.integrations.reward.judge_reward", "per_device_train_batch_size": 2}
    options |= {"num_generations": 2, "max_completion_length": 8, "max_steps": 1, "logging_steps": 1, "use_cpu": True}
    options |= {"report_to": "none", "save_strategy": "no"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    printed = run("-m", "trl.scripts.grpo", *words, folder=tmp_path, HF_HOME=str(tmp_path / "home"))
    assert "rewards/bert_judge/mean" in printed
