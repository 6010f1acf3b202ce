"""Backends, the programs that run an encoder: their interface, padding of batches, and PyTorch; OpenVINO is in `openvino.py`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedModel

from bert_judge.judges.bert.encoding import EncodedRow

Batch = dict[str, np.ndarray]
# Limited by the caches of a CPU, and by the number of kernel launches of a GPU.
CPU_BATCH_TOKENS, CUDA_BATCH_TOKENS = 2048, 65536
INPUT_NAMES = ("input_ids", "attention_mask", "token_type_ids")


class Backend(Protocol):
    """Runs batches of encoded rows.

    Attributes:
        name: program, device and number format, for log lines.
        batch_tokens: default tokens per batch, padding included. 0: every row alone, because with 8-bit rounding a row's logits
            would depend on the other rows of its batch.
        parallel_batches: number of batches that run at the same time, each in its own thread.
        length_multiple: batches are padded to a multiple of this many tokens.
        logit_error: bound that the rounding error of a logit, against float32, rarely exceeds; 0 if negligible.
    """

    name: str
    batch_tokens: int
    parallel_batches: int
    length_multiple: int
    logit_error: float

    def run(self, batch: Batch) -> np.ndarray:
        """Return logits of shape (rows, 2) for arrays `INPUT_NAMES` of shape (rows, tokens), int64."""
        ...


def pad_rows(rows: Sequence[EncodedRow], pad_id: int, length_multiple: int = 1) -> Batch:
    """Pad on the right, with mask 0, to arrays of shape (rows, longest row up to a multiple of `length_multiple`)."""
    shape = (len(rows), math.ceil(max(len(row.ids) for row in rows) / length_multiple) * length_multiple)
    ids, mask, types = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for i, row in enumerate(rows):
        length = len(row.ids)
        ids[i, :length], types[i, :length], mask[i, :length] = row.ids, row.types, 1
    return dict(zip(INPUT_NAMES, (ids, mask, types), strict=True))


def model_inputs(config: object) -> tuple[str, ...]:
    """Return those of `INPUT_NAMES` that a model reads; only some have segments."""
    return INPUT_NAMES if getattr(config, "type_vocab_size", 0) > 1 else INPUT_NAMES[:2]


class TorchBackend:
    """PyTorch: runs every model (two logits, in eval mode) on its device; the reference for OpenVINO. See `Backend`."""

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
