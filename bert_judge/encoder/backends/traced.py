"""A model as converters take it: a function of tensors, and an example of its input."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel

from bert_judge.encoder.backends.protocol import takes


class Logits(torch.nn.Module):
    """Tensors in the order of `protocol.takes` in, logits out."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self.names = takes(model.config)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, tensors, strict=True))).logits


def example(model: PreTrainedModel) -> tuple[torch.Tensor, ...]:
    """Two rows, one of them padded: a model that is traced on whole rows may forget the mask."""
    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
    return tuple(tensors[name] for name in takes(model.config))
