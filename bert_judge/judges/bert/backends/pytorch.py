"""PyTorch: runs every model on every device; the reference for the other backends."""

from __future__ import annotations

import contextlib

import numpy as np
import torch
from transformers import PreTrainedModel

from bert_judge.judges.bert.backends.base import Batch, model_inputs

# Limited by the caches of a CPU, and by the number of kernel launches of a GPU.
CPU_BATCH_TOKENS, CUDA_BATCH_TOKENS = 2048, 65536


class TorchBackend:
    """See `base.Backend`.

    Args:
        model: two logits, in eval mode, on the device to use.
        dtype: number format of the matrix products.
    """

    parallel_batches, length_multiple, logit_error = 1, 1, 0.0

    def __init__(self, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> None:
        self.model, self.dtype = model, dtype
        self.device = next(model.parameters()).device
        self.batch_tokens = CUDA_BATCH_TOKENS if self.device.type == "cuda" else CPU_BATCH_TOKENS
        self.name = f"torch, {self.device}, {str(dtype).removeprefix('torch.')}"

    def run(self, batch: Batch) -> np.ndarray:
        tensors = {name: torch.from_numpy(batch[name]).to(self.device) for name in model_inputs(self.model.config)}
        with torch.inference_mode(), self._autocast():
            return self.model(**tensors).logits.double().cpu().numpy()

    def _autocast(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext() if self.dtype == torch.float32 else torch.autocast(self.device.type, dtype=self.dtype)
