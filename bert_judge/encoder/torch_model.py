"""The encoder of a judge as a model of torch: loading, saving, and the backend. Only training, GPUs and encoders that are not in
`weights.py` need it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from bert_judge import tables
from bert_judge.assets import pretrained
from bert_judge.encoder.backend import (
    CPU_BATCH_TOKENS,
    CUDA_BATCH_TOKENS,
    INPUT_NAMES,
    LOGIT_ERRORS,
    Batch,
    pad_rows,
    select_length_multiple,
)
from bert_judge.encoder.encoding import EncodedRow, RowTokenizer
from bert_judge.encoder.weights import SCALE, WEIGHTS_FILE, Matrix
from bert_judge.runtime.errors import InputError


def load_model(folder: Path, tokenizer: RowTokenizer, trained: bool, seed: int) -> PreTrainedModel:
    """Load a model in float32 and eval mode; a backbone gets a random head, and embeddings of added tokens.

    Raises:
        InputError: the files are damaged or do not match config.json or the tokenizer.
    """
    torch.manual_seed(seed)
    if (folder / WEIGHTS_FILE).is_file():
        model = _load_int8(folder)
    else:
        model = pretrained.load_classifier(folder, logits=2, new_head=not trained)
    _resize_embeddings(model, tokenizer)
    tokenizer.check_ids(folder, cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings)
    return model.float().eval()


def save_model(model: PreTrainedModel, folder: Path, int8: bool) -> None:
    """Write weights and config.json. Raises InputError: a weight is not a number."""
    pretrained.check_finite(model, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if int8:
        _save_int8(model, folder)
    else:
        model.save_pretrained(folder)
    for weights in folder.glob("*.safetensors"):
        tables.set_default_mode(weights)


def max_input_length(model: PreTrainedModel) -> int:
    """Return the maximum input of a model in tokens."""
    positions = int(getattr(model.config, "max_position_embeddings", None) or 512)
    # RoBERTa's positions start after the padding token's id: 514 positions hold 512 tokens.
    embeddings = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [table.padding_idx for table in embeddings if isinstance(table, torch.nn.Embedding)]
    return positions - max((index + 1 for index in padding if index is not None), default=0)


def model_inputs(config: object) -> tuple[str, ...]:
    """Return those of `INPUT_NAMES` that a model reads; only some have segments."""
    return INPUT_NAMES if getattr(config, "type_vocab_size", 0) > 1 else INPUT_NAMES[:2]


def collate(rows: Sequence[EncodedRow], pad_id: int, config: object) -> dict[str, torch.Tensor]:
    """Pad rows to tensors of shape (rows, longest row), the inputs of a model with this config."""
    batch = pad_rows(rows, pad_id)
    return {name: torch.from_numpy(batch[name]) for name in model_inputs(config)}


class TorchBackend:
    """PyTorch: runs every model (two logits, in eval mode) on its device; the reference for OpenVINO. See `Backend`."""

    parallel_batches = 1

    def __init__(self, model: PreTrainedModel, precision: str = "float32") -> None:
        self.model, self.dtype = model, getattr(torch, precision)
        self.device = next(model.parameters()).device
        self.batch_tokens = CUDA_BATCH_TOKENS if self.device.type == "cuda" else CPU_BATCH_TOKENS
        self.length_multiple = select_length_multiple(max_input_length(model))
        self.logit_error = LOGIT_ERRORS[precision]
        self.name = f"torch, {self.device}, {precision}"

    def run(self, batch: Batch) -> np.ndarray:
        tensors = {name: torch.from_numpy(batch[name]).to(self.device) for name in model_inputs(self.model.config)}
        is_mixed = self.dtype != torch.float32
        with torch.inference_mode(), torch.autocast(self.device.type, self.dtype if is_mixed else None, enabled=is_mixed):
            return self.model(**tensors).logits.double().cpu().numpy()


def _resize_embeddings(model: PreTrainedModel, tokenizer: RowTokenizer) -> None:
    """Add embeddings for added tokens, initialised with that of the separator (measured: docs/log.md)."""
    num_embeddings = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    size = tokenizer.backend.get_vocab_size()
    if size <= num_embeddings:
        return
    weight = model.resize_token_embeddings(size, mean_resizing=False).weight
    with torch.no_grad():
        weight[num_embeddings:] = weight[tokenizer.separator_id]


@torch.no_grad()
def round_weights(model: PreTrainedModel) -> None:
    """Round every matrix of a model, in place, to values that its file of integers can hold."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.copy_(torch.from_numpy(Matrix(*_to_matrix(parameter).quantize()).dequantize()))


def _save_int8(model: PreTrainedModel, folder: Path) -> None:
    tensors: dict[str, Any] = {}
    for name, value in model.state_dict().items():
        if value.ndim > 1 and value.is_floating_point():
            tensors[name], tensors[name + SCALE] = _to_matrix(value).quantize()
        else:
            tensors[name] = value.cpu().contiguous().numpy()
    save_file(tensors, folder / WEIGHTS_FILE)
    model.config.save_pretrained(folder)


def _to_matrix(weights: torch.Tensor) -> Matrix:
    # safetensors 0.8.0 stores a strided array as its memory lies, without an error (findings/safetensors_strided_arrays.sh).
    return Matrix(weights.detach().cpu().contiguous().numpy(), None)


def _load_int8(folder: Path) -> PreTrainedModel:
    """Load a model in float32. Raises InputError: the file is damaged, or does not match config.json."""
    try:
        tensors = load_file(folder / WEIGHTS_FILE)
        config = pretrained.load_config(folder)
        pretrained.check_size(AutoModelForSequenceClassification, config, folder)
        for name in (name for name in tensors if name.endswith(SCALE)):
            if tensors[name].shape != (len(tensors[name.removesuffix(SCALE)]), 1):
                raise ValueError(f"{name} has the shape {tensors[name].shape}")
        model = AutoModelForSequenceClassification.from_config(config)
        matrices = {name: Matrix(value, tensors.get(name + SCALE)) for name, value in tensors.items() if not name.endswith(SCALE)}
        model.load_state_dict({name: torch.from_numpy(matrix.dequantize()) for name, matrix in matrices.items()})
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable judge: {' '.join(str(error).split())[:300]}") from error
    pretrained.check_finite(model, folder)
    return model
