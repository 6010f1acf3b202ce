"""Hidden states of all layers, pooled while the model runs.

A hook on each layer turns its states into a few vectors per text as soon as they are there, so no layer's states outlive the next
layer: the memory is that of a plain pass, not layers times it. Padding never counts, on whichever side it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bert_judge.runtime.errors import InputError


def pool(hidden: Tensor, mask: Tensor, poolings: Sequence[str]) -> Tensor:
    """Vectors of texts from the states of their tokens.

    Args:
        hidden: shape (texts, tokens, width).
        mask: True where a token is; shape (texts, tokens), at least one per text.
        poolings: of `BASIC_POOLINGS`.

    Returns:
        float32, shape (texts, poolings, width).
    """
    hidden = hidden.float()
    places = torch.arange(mask.shape[1], device=mask.device)
    found = []
    if not bool(mask.all()):
        # Padding repeats the text's first token: that changes neither extreme, and whatever stood there counts for nothing.
        first = hidden.gather(1, _index(mask.int().argmax(1), hidden))
        hidden = torch.where(mask.unsqueeze(-1), hidden, first)
    for pooling in poolings:
        match pooling:
            case "mean":
                weights = mask.float() / mask.sum(1, keepdim=True)
                found.append(torch.bmm(weights.unsqueeze(1), hidden).squeeze(1))
            case "last":
                last = (mask * places).argmax(1)
                found.append(hidden.gather(1, _index(last, hidden)).squeeze(1))
            case "min":
                found.append(hidden.amin(1))
            case "max":
                found.append(hidden.amax(1))
            case _:
                raise ValueError(pooling)
    return torch.stack(found, 1)


def _index(places: Tensor, hidden: Tensor) -> Tensor:
    return places.view(-1, 1, 1).expand(-1, 1, hidden.shape[-1])


class PooledLayers:
    """A frozen model that gives the pooled states of all its layers.

    Args:
        model: an encoder or the body of a language model, without a head.
        poolings: of `BASIC_POOLINGS`.

    Attributes:
        layers: number of layers with states, the embeddings (layer 0) among them.
        width: numbers of a state.

    Raises:
        InputError: its layers are not where models of transformers have them.
    """

    def __init__(self, model: PreTrainedModel, poolings: Sequence[str]) -> None:
        self.model, self.poolings = model.eval(), tuple(poolings)
        self._blocks = _blocks(model)
        self.layers, self.width = len(self._blocks) + 1, int(model.config.hidden_size)

    @torch.inference_mode()
    def read(self, batch: dict[str, Tensor]) -> Tensor:
        """One forward pass.

        Args:
            batch: what the model takes; `attention_mask` of shape (texts, tokens) among it.

        Returns:
            float32 on the model's device, shape (texts, layers, poolings, width). The last layer is what the model gives, after its
            final norm where it has one, as with `output_hidden_states`.
        """
        mask = batch["attention_mask"].bool()
        found: list[Tensor] = []

        def keep(states: Tensor) -> None:
            found.append(pool(states, mask, self.poolings))

        with _hooked(self._blocks, keep):
            output = self.model(**batch)
        if len(found) != self.layers - 1:
            raise InputError(f"a {self.model.config.model_type} runs its layers {len(found)} times; take another backbone")
        keep(output.last_hidden_state)
        return torch.stack(found, 1)


@contextmanager
def _hooked(blocks: nn.ModuleList, keep: Callable[[Tensor], None]) -> Iterator[None]:
    """Have `keep` see what goes into each block: the embeddings, then the states of every layer but the last."""

    def see(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        keep(args[0] if args else named["hidden_states"])

    hooks = [block.register_forward_pre_hook(see, with_kwargs=True) for block in blocks]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _blocks(model: PreTrainedModel) -> nn.ModuleList:
    """The list of the model's layers."""
    count = getattr(model.config, "num_hidden_layers", None)
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == count]
    if not lists:
        raise InputError(f"a {model.config.model_type} has no list of layers to look into; take another backbone")
    # A list inside a layer comes after the list of the layers.
    return lists[0]
