"""A stage in several processes: two on the CPU, started by `accelerate launch` as a job starts them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import launched_stages
import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from safetensors.torch import load_file
from test_pair_sets import CONFIG, changed
from test_pair_tuning import Pairs

from bert_judge import plan
from bert_judge.candidates.finetuning import launch
from bert_judge.candidates.finetuning.trainer import tune
from bert_judge.config import Tuning
from bert_judge.judges.pairwise.train import tune_pair_judge
from bert_judge.runtime.errors import ConfigError, InputError

ROOT = Path(__file__).parents[4]
FSDP = ROOT / "configs/accelerate/fsdp.yaml"
# Where there is no GPU, the processes compute on the CPU and talk over gloo.
TWO = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "MULTI_GPU",
    "num_machines": 1,
    "num_processes": 2,
    "main_process_port": 0,
    "mixed_precision": "no",
    "use_cpu": False,
    "gpu_ids": "all",
}
# Dropout draws in every process for itself; and every step is shared out evenly, the last one too.
SMALL: dict[str, Any] = {"lora": {"rank": 4, "dropout": 0.0}, "epochs": 1, "batch_size": 2, "augment": {"both_orders": 1.0}}


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A configuration of accelerate for two processes, which find this checkout and these tests."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{Path(__file__).parents[2]}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(TWO))
    return str(tmp_path / "two.yaml")


def test_stage_in_this_process_or_several(two: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    launch.run(launched_stages.note, {"folder": tmp_path / "here"}, None)
    with caplog.at_level(logging.INFO, "bert_judge"):
        launch.run(launched_stages.note, {"folder": tmp_path / "there"}, two)
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["alone"]
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["0", "1"]
    # What the first says is in the log, and once.
    assert sum("at work" in record.message for record in caplog.records if record.name == launch.log.name) == 1


def test_error_of_all_processes_is_reported_once(two: str) -> None:
    with pytest.raises(InputError) as caught:
        launch.run(launched_stages.refuse, {"what": "Größe"}, two)
    assert str(caught.value) == "Größe: refused; give another"


def test_failing_processes(two: str) -> None:
    with pytest.raises(InputError, match=r"two\.yaml: accelerate ended with status \d+; see the log"):
        launch.run(launched_stages.die, {}, two)


def test_two_processes_train_the_same_model_as_one(two: str, tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    pairs.write([{"question": f"Wie {n}?", "answer_a": f"a{n}", "label": "A"} for n in range(4, 8)])
    expected = load_file(pairs.tune("one", **SMALL) / "model.safetensors")
    launch.run(tune_pair_judge, pairs.asked("two", **SMALL), two)
    made, before = load_file(tmp_path / "two/model.safetensors"), load_file(pairs.base / "model.safetensors")
    assert made.keys() == expected.keys()
    changed = sum(float((expected[name] - before[name]).norm()) for name in expected)
    apart = sum(float((expected[name] - made[name]).norm()) for name in expected)
    assert apart < 0.05 * changed
    figures = [json.loads((tmp_path / name / "metrics.json").read_text())["training"] for name in ("one", "two")]
    assert figures[0]["steps"] == figures[1]["steps"] > 2
    assert figures[0]["loss"] == pytest.approx(figures[1]["loss"], rel=1e-3)
    assert (tmp_path / "two/judge.json").is_file()
    assert not (tmp_path / ".work-two").exists()


def test_batch_size_must_be_divisible_by_the_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(InputError, match="batch_size 16 must be a multiple of micro_batch_size times the 3 processes"):
        tune(None, [], Tuning(), tmp_path)  # type: ignore[arg-type]


def test_fsdp_configuration_is_valid() -> None:
    read = load_config_from_file(str(FSDP))
    assert (str(read.distributed_type), read.num_processes) == ("DistributedType.FSDP", 4)
    parsed = launch_command_parser().parse_args(["--config_file", str(FSDP), "-m", launch.MODULE, "stage.json"])
    settings, _, _ = _validate_launch_command(parsed)
    assert (settings.use_fsdp, settings.num_processes, settings.main_process_port) == (True, 4, 0)
    assert (settings.fsdp_version, settings.fsdp_state_dict_type) == (2, "FULL_STATE_DICT")


def with_accelerate(file: object, **tuning: Any) -> dict[str, Any]:
    return changed(judges__tuned={**CONFIG["judges"]["tuned"], "tuning": {"accelerate": str(file), **tuning}})


def test_number_of_gpus_follows_the_configuration() -> None:
    made = plan.build_plan(with_accelerate(FSDP))
    assert made.gpus_to_tune("tuned") == 4
    assert made.tuned_judge_spec("tuned") == plan.build_plan(CONFIG).tuned_judge_spec("tuned")
    assert plan.build_plan(CONFIG).gpus_to_tune("tuned") == 1


@pytest.mark.parametrize(
    ("content", "tuning", "fault"),
    [
        (None, {}, "cannot be read"),
        ("", {}, "does not set num_processes"),
        ("num_processes: many", {}, "does not set num_processes"),
        ("num_processes: true", {}, "does not set num_processes"),
        ("[1", {}, "cannot be read"),
        ("num_processes: 3", {}, "batch_size 16 must be a multiple of micro_batch_size times the processes of accelerate, 3"),
        ("num_processes: 4", {"micro_batch_size": 8}, "batch_size 16 must be a multiple of micro_batch_size times the processes"),
    ],
)
def test_invalid_accelerate_configuration(tmp_path: Path, content: str | None, tuning: dict[str, Any], fault: str) -> None:
    if content is not None:
        (tmp_path / "a.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(with_accelerate(tmp_path / "a.yaml", **tuning))
    [line] = caught.value.errors
    assert line.startswith("judges.tuned.tuning") and fault in line
