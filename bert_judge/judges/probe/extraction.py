"""Answers in, pooled hidden states out: each distinct prompt once, sorted by length, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bert_judge.assets import pretrained
from bert_judge.judges.bert.checkpoint import max_input_length
from bert_judge.judges.bert.inference import batch_by_tokens, collate
from bert_judge.judges.probe.pooling import PooledLayers
from bert_judge.judges.probe.prompts import PromptEncoder
from bert_judge.runtime import hardware

# Tokens of a batch, padding included: what keeps a GPU busy, and on a CPU what stays in its caches.
BATCH_TOKENS = {"cuda": 32_768, "cpu": 1024, "mps": 4096}


@dataclass(frozen=True)
class Pooled:
    """Hidden states of n answers.

    Attributes:
        states: of the format that is stored, shape (n, layers, poolings, width).
        truncated: something of the answer was cut, shape (n,).
        tokens: tokens of its prompt, shape (n,).
    """

    states: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray


class Reader:
    """A frozen model with a prompt.

    Args:
        folder: the model in the format of transformers.
        spec: what `plan.probes` says of a set of features: prompt, poolings, max_length, precision, storage_dtype.
        batch_tokens: tokens per batch, padding included; fitting the device when left out.

    Raises:
        InputError: the folder holds no model that can be looked into.
    """

    def __init__(self, folder: str | Path, spec: Mapping[str, Any], batch_tokens: int | None = None) -> None:
        folder = Path(folder)
        tokenizer = pretrained.load_tokenizer(folder)
        model: Any = pretrained.load_backbone(folder, getattr(torch, spec["precision"]))
        self.device = hardware.best_device()
        self._layers = PooledLayers(model.to(self.device), spec["poolings"])
        self._encoder = PromptEncoder(tokenizer, spec["prompt"], min(spec["max_length"], max_input_length(model)))
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (tokenizer.eos_token_id or 0)
        self._stored = np.dtype(spec["storage_dtype"])
        self._batch_tokens = batch_tokens or BATCH_TOKENS[self.device.type]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Layers, poolings and width of the states of an answer."""
        return self._layers.layers, len(self._layers.poolings), self._layers.width

    @property
    def row_bytes(self) -> int:
        """Bytes of the states of an answer."""
        return int(np.prod(self.shape)) * self._stored.itemsize

    def read(self, questions: Sequence[str], candidates: Sequence[str]) -> Pooled:
        """The states of each answer; what one is does not depend on the others, on batches or on padding."""
        prompts = self._encoder.encode(questions, candidates)
        unique = list(dict.fromkeys(prompts))
        states = np.zeros((len(unique), *self.shape), self._stored)
        for batch in batch_by_tokens([len(prompt.ids) for prompt in unique], self._batch_tokens):
            # Float32 may hold what float16 cannot: an outlier becomes its largest number, not infinity.
            # Padding stands on the right, where positions need no care.
            tensors = collate([unique[place] for place in batch], self._pad, self._layers.model.config)
            pooled = self._layers.read({name: tensor.to(self.device) for name, tensor in tensors.items()}).cpu().numpy()
            states[batch] = np.clip(pooled, np.finfo(self._stored).min, np.finfo(self._stored).max)
        where = {prompt: place for place, prompt in enumerate(unique)}
        truncated = np.array([prompt.truncated for prompt in prompts], bool)
        tokens = np.array([len(prompt.ids) for prompt in prompts], np.int32)
        return Pooled(states[[where[prompt] for prompt in prompts]], truncated, tokens)
