"""Weights as 8-bit integers: a folder of a quarter of the size.

Each row of a matrix is stored as integers and one scale, vectors in float32. Weights that `round_weights` has rounded are stored
without loss, so a judge that is calibrated after rounding gives the same scores from either file.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel

from bert_judge.runtime.errors import InputError

WEIGHTS_FILE = "weights.int8.safetensors"
MAX_INTEGER = 127
SCALE = ".scale"


@torch.no_grad()
def round_weights(model: PreTrainedModel) -> None:
    """Round every matrix of a model, in place, to values that its file of integers can hold."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            integers, scale = _quantize(parameter)
            parameter.copy_(integers.float() * scale)


def save_weights(model: PreTrainedModel, folder: Path) -> None:
    """Write the weights of a model as integers, and its config.json."""
    tensors = {}
    for name, value in model.state_dict().items():
        if value.ndim > 1 and value.is_floating_point():
            tensors[name], tensors[name + SCALE] = _quantize(value.cpu())
        else:
            tensors[name] = value.cpu().contiguous()
    save_file(tensors, folder / WEIGHTS_FILE)
    model.config.save_pretrained(folder)


def load_classifier(folder: Path) -> PreTrainedModel:
    """Load a model with two logits, in float32.

    Raises:
        InputError: the file is damaged, or does not match config.json.
    """
    try:
        tensors = load_file(folder / WEIGHTS_FILE)
        model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder, local_files_only=True))
        state = {
            name: value.float() * tensors[name + SCALE] if name + SCALE in tensors else value
            for name, value in tensors.items()
            if not name.endswith(SCALE)
        }
        model.load_state_dict(state)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable judge: {' '.join(str(error).split())[:300]}") from error
    return model


def _quantize(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return integers and the scale of each row, of shape (rows, 1)."""
    scale = (matrix.abs().amax(dim=1, keepdim=True) / MAX_INTEGER).clamp(min=torch.finfo(torch.float32).tiny)
    return (matrix / scale).round().to(torch.int8), scale
