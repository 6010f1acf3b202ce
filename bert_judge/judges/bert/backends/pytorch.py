"""PyTorch: every model, every device, and the numbers that the others are measured against."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from transformers import PreTrainedModel

from bert_judge.judges.bert.backends.protocol import Batch, takes

# Tokens of a batch. On a CPU the caches decide, on a GPU the number of kernels launched.
CPU_BUDGET, CUDA_BUDGET = 2048, 65536


class TorchBackend:
    """See `protocol.Backend`.

    Args:
        model: two logits, in eval mode, on the device to use.
        dtype: number format of the matrix products.
    """

    at_once, tile, error = 1, 1, 0.0

    def __init__(self, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> None:
        self.model, self.dtype = model, dtype
        self.device = next(model.parameters()).device
        self.budget = CUDA_BUDGET if self.device.type == "cuda" else CPU_BUDGET
        self.name = f"torch, {self.device}, {str(dtype).removeprefix('torch.')}"

    def run(self, batch: Batch) -> np.ndarray:
        tensors = {name: torch.from_numpy(batch[name]).to(self.device) for name in takes(self.model.config)}
        with torch.inference_mode(), self._autocast():
            return self.model(**tensors).logits.double().cpu().numpy()

    def _autocast(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if self.dtype == torch.float32 else torch.autocast(self.device.type, dtype=self.dtype)
