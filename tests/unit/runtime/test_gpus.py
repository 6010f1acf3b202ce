"""GPUs that were asked for and are not there."""

from typing import Any

import pytest
import torch

from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError


@pytest.mark.parametrize(
    ("resources", "count"),
    [
        ({}, 0),
        ({"mem_mb": 1000, "gpu": 0}, 0),
        ({"gpu": 1}, 1),
        ({"gpu": 4, "gres": ""}, 4),
        ({"gpu": 0, "gres": "gpu"}, 1),
        ({"gpu": 0, "gres": "gpu:2"}, 2),
        ({"gres": "gpu:a100:3"}, 3),
        ({"gres": "gpu:a100"}, 1),
        ({"gres": "tmpdisk:100"}, 0),
        ({"gres": None}, 0),
    ],
)
def test_what_a_job_asks_for(resources: dict[str, Any], count: int) -> None:
    assert hardware.requested_gpus(resources) == count


@pytest.fixture
def in_a_job(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.delenv("BERT_JUDGE_WITHOUT_GPU", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    return monkeypatch


def test_enough_is_enough(in_a_job: pytest.MonkeyPatch) -> None:
    hardware.check_gpus({"gpu": 1})
    hardware.check_gpus({"gpu": 0})
    hardware.check_gpus({})


def test_too_few_are_one_line_that_says_where_and_what_to_do(in_a_job: pytest.MonkeyPatch) -> None:
    in_a_job.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(InputError, match=r"requested 4 GPUs, and 1 are visible \(CUDA_VISIBLE_DEVICES: 0\)") as caught:
        hardware.check_gpus({"gpu": 4})
    assert "\n" not in str(caught.value)


def test_a_torch_without_cuda_is_named(in_a_job: pytest.MonkeyPatch) -> None:
    in_a_job.setattr(torch.cuda, "device_count", lambda: 0)
    in_a_job.setattr(torch.version, "cuda", None)
    with pytest.raises(InputError, match=r"requested 1 GPU, and torch \S+ is built for CPUs only"):
        hardware.check_gpus({"gpu": 1})


@pytest.mark.parametrize("change", [("SLURM_JOB_ID", None), ("BERT_JUDGE_WITHOUT_GPU", "1")])
def test_nobody_is_sent_away_who_means_to_compute_without(in_a_job: pytest.MonkeyPatch, change: tuple[str, str | None]) -> None:
    name, value = change
    in_a_job.delenv(name, raising=False) if value is None else in_a_job.setenv(name, value)
    hardware.check_gpus({"gpu": 8})
