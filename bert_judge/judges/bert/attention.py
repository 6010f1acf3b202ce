"""Attention of models that learn on a CPU: in float32, also where everything else is in bfloat16.

There PyTorch goes back through attention faster in float32, several times where rows are short (measured: docs/log.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from bert_judge.runtime import hardware

FUSED = "sdpa"
SDPA_FLOAT32 = "sdpa_in_float32"


@contextmanager
def float32_attention(model: PreTrainedModel) -> Iterator[None]:
    """Within it a model with fused attention attends in float32 on a machine without GPU; what it says differs by rounding."""
    # Not the model's own device: several processes give it to theirs as the training starts.
    if model.config._attn_implementation != FUSED or hardware.best_device().type != "cpu":
        yield
        return
    model.set_attn_implementation(SDPA_FLOAT32)
    try:
        yield
    finally:
        model.set_attn_implementation(FUSED)


def _in_float32(module: torch.nn.Module, *tensors: torch.Tensor | None, **options: Any) -> tuple[torch.Tensor, None]:
    """See `sdpa_attention_forward`."""
    [query, *_] = tensors
    assert query is not None
    with torch.autocast(query.device.type, enabled=False):
        exact = {name: _exact(value) for name, value in options.items()}
        attended, nothing = sdpa_attention_forward(module, *map(_exact, tensors), **exact)
    return attended.to(query.dtype), nothing


def _exact(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


AttentionInterface.register(SDPA_FLOAT32, _in_float32)
AttentionMaskInterface.register(SDPA_FLOAT32, sdpa_mask)
