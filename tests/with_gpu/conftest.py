"""What needs a GPU of NVIDIA's, in float32 without the rounding of TF32. Skipped where torch sees none."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def gpu() -> None:
    if not torch.cuda.is_available():
        built = "sees no GPU" if torch.version.cuda else "is built for CPUs only"
        pytest.skip(f"torch {torch.__version__} {built}; these tests need one of NVIDIA's")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
