"""The interface of backends, padding of batches, and helpers of the converting backends."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from transformers import PreTrainedModel

from bert_judge.judges.bert.encoding import EncodedRow

Batch = dict[str, np.ndarray]
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


class TraceableModel(torch.nn.Module):
    """Maps tensors in the order of `model_inputs` to logits, as converters need it."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self.names = model_inputs(model.config)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, tensors, strict=True))).logits


def example_inputs(model: PreTrainedModel) -> tuple[torch.Tensor, ...]:
    """Return two rows, one of them padded: a trace of unpadded rows may lose the mask."""
    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
    return tuple(tensors[name] for name in model_inputs(model.config))


def model_fingerprint(model: PreTrainedModel, *converter: object) -> str:
    """Hash weights, torch version and everything else that the converted model depends on, 32 hex digits."""
    digest = hashlib.sha256(repr((torch.__version__, *converter)).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:32]
