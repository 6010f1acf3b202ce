"""Float32 attention for training on a CPU, where everything else is in bfloat16.

PyTorch's backward pass through attention is faster in float32 on a CPU, several times for short rows (measured: docs/log.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from bert_judge.runtime import hardware

SDPA = "sdpa"
SDPA_FLOAT32 = "sdpa_in_float32"


@contextmanager
def float32_attention(model: PreTrainedModel) -> Iterator[None]:
    """Compute fused attention in float32 within this context on a machine without a GPU; outputs differ by rounding."""
    # The model's own device does not count: with several processes it is moved only when training starts.
    if model.config._attn_implementation != SDPA or hardware.best_device() != "cpu":
        yield
        return
    model.set_attn_implementation(SDPA_FLOAT32)
    try:
        yield
    finally:
        model.set_attn_implementation(SDPA)


def _sdpa_in_float32(module: torch.nn.Module, *tensors: torch.Tensor | None, **options: Any) -> tuple[torch.Tensor, None]:
    [query, *_] = tensors
    assert query is not None
    with torch.autocast(query.device.type, enabled=False):
        float32_options = {name: _to_float32(value) for name, value in options.items()}
        output, weights = sdpa_attention_forward(module, *map(_to_float32, tensors), **float32_options)
    return output.to(query.dtype), weights


def _to_float32(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


AttentionInterface.register(SDPA_FLOAT32, _sdpa_in_float32)
AttentionMaskInterface.register(SDPA_FLOAT32, sdpa_mask)
