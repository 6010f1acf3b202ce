"""A model as converters take it: a function of tensors, an example of its input, and a name for what they make of it."""

from __future__ import annotations

import hashlib

import torch
from transformers import PreTrainedModel

from bert_judge.judges.bert.backends.protocol import takes


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


def fingerprint(model: PreTrainedModel, *converter: object) -> str:
    """32 hex digits that depend on the weights' content, on torch and on what else made the converted model."""
    digest = hashlib.sha256(repr((torch.__version__, *converter)).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:32]
