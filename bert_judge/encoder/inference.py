"""Encoded rows in, logits out: each distinct row once, sorted by length, in batches of bounded size."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from bert_judge.encoder.batching import by_token_budget
from bert_judge.encoder.encoding import Encoded

log = logging.getLogger(__name__)

# Tokens of a batch. On a CPU the caches decide, on a GPU the number of kernels launched.
CPU_BUDGET, CUDA_BUDGET = 2048, 65536
SECONDS_BETWEEN_LINES = 30


def best_device() -> torch.device:
    """CUDA, Apple's GPU or the CPU, whichever is there first."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware computes in it, else float32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    capable = torch.cpu.get_capabilities()
    return torch.bfloat16 if capable.get("avx512_bf16") or capable.get("amx_bf16") else torch.float32


def logits(
    model: PreTrainedModel,
    rows: Sequence[Encoded],
    pad_id: int,
    dtype: torch.dtype = torch.float32,
    batch_tokens: int | None = None,
) -> np.ndarray:
    """logit₁ − logit₀ per row.

    Args:
        model: two logits, in eval mode, on the device to use.
        rows: what to read.
        pad_id: token id of the padding.
        dtype: number format of the matrix products.
        batch_tokens: tokens per batch, padding included; fitting the device when left out.

    Returns:
        float64, shape (n,). A row's logit depends on the other rows by rounding only.
    """
    unique = list(dict.fromkeys(rows))
    device = next(model.parameters()).device
    budget = batch_tokens or (CUDA_BUDGET if device.type == "cuda" else CPU_BUDGET)
    result: dict[Encoded, float] = {}
    progress = _Progress(len(unique))
    with torch.inference_mode(), _autocast(device, dtype):
        for batch in by_token_budget([len(row.ids) for row in unique], budget):
            chosen = [unique[position] for position in batch]
            output = model(**collate(chosen, pad_id, model.config, device)).logits.double()
            result |= dict(zip(chosen, (output[:, 1] - output[:, 0]).tolist(), strict=True))
            progress.step(len(chosen))
    return np.array([result[row] for row in rows], dtype=float)


def collate(rows: Sequence[Encoded], pad_id: int, config: object, device: torch.device | None = None) -> dict[str, torch.Tensor]:
    """Padded tensors of shape (rows, longest row)."""
    longest = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), longest), pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    types = torch.zeros((len(rows), longest), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        types[i, : len(row.ids)] = torch.tensor(row.types)
        mask[i, : len(row.ids)] = 1
    batch = {"input_ids": ids, "attention_mask": mask}
    if getattr(config, "type_vocab_size", 0) > 1:
        batch["token_type_ids"] = types
    return {name: tensor.to(device) for name, tensor in batch.items()} if device is not None else batch


def _autocast(device: torch.device, dtype: torch.dtype) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


class _Progress:
    """A log line now and then, not one per batch."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.started = self.spoken = time.monotonic()

    def step(self, rows: int) -> None:
        self.done += rows
        now = time.monotonic()
        if now - self.spoken > SECONDS_BETWEEN_LINES:
            self.spoken = now
            rate = self.done / (now - self.started)
            # Longest rows come first, so what is left goes faster than this rate.
            left = (self.total - self.done) / rate
            log.info("judged %d of %d rows, %.0f rows/s, at most %.0f s left", self.done, self.total, rate, left)
