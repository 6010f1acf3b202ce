"""What the machine computes with."""

import torch

from bert_judge.runtime.hardware import matmul_rate


def test_measuring_the_machine_leaves_random_numbers_as_they_were() -> None:
    before = torch.get_rng_state()
    assert matmul_rate(torch.device("cpu"), torch.float32, times=1) > 0
    assert torch.equal(torch.get_rng_state(), before)
