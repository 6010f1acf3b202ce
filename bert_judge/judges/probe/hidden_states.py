"""Extract pooled hidden states of all layers of a frozen model: encode prompts, run the model, pool the tokens without padding."""

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from bert_judge.assets import pretrained
from bert_judge.config import Input
from bert_judge.encoder.backend import batch_by_tokens
from bert_judge.encoder.encoding import EncodedRow, RowEncoder, RowTokenizer, truncate_parts
from bert_judge.encoder.torch_model import collate, max_input_length
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

# Tokens per batch, padding included: few enough for the caches of a CPU, and for the states of all layers in the memory of a GPU.
BATCH_TOKENS = {"cuda": 8192, "cpu": 1024, "mps": 4096}


@dataclass(frozen=True)
class PooledStates:
    """Hidden states of n answers in the storage format, shape (n, layers, poolings, width); truncation and tokens of the prompts,
    (n,)."""

    states: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray


class HiddenStateExtractor:
    """A frozen model in a folder, with the prompt of a features spec. Raises InputError: the folder holds no complete model."""

    def __init__(self, folder: str | Path, spec: Mapping[str, Any], batch_tokens: int | None = None) -> None:
        folder = Path(folder)
        tokenizer = pretrained.load_tokenizer(folder)
        self.device = hardware.best_device()
        self.model: Any = pretrained.load_backbone(folder, getattr(torch, spec["precision"])).eval()
        self.model.to(self.device)
        self._poolings = tuple(spec["poolings"])
        self._encoder = PromptEncoder(tokenizer, spec["prompt"], min(spec["max_length"], max_input_length(self.model)))
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (tokenizer.eos_token_id or 0)
        self._dtype = np.dtype(spec["storage_dtype"])
        self._batch_tokens = batch_tokens or BATCH_TOKENS[self.device]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Layers (the embeddings are layer 0), poolings and width of the states of an answer."""
        config = self.model.config
        return config.num_hidden_layers + 1, len(self._poolings), config.hidden_size

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape)) * self._dtype.itemsize

    def extract(self, questions: Sequence[str], candidates: Sequence[str]) -> PooledStates:
        """Compute the states of each answer, which do not depend on the other answers, on batches or on padding."""
        prompts = self._encoder.encode_prompts(questions, candidates)
        unique = list(dict.fromkeys(prompts))
        states = np.zeros((len(unique), *self.shape), self._dtype)
        for batch in batch_by_tokens([len(prompt.ids) for prompt in unique], self._batch_tokens):
            # Padding is on the right, where position ids need no correction.
            tensors = collate([unique[index] for index in batch], self._pad, self.model.config)
            pooled = self.pool_states({name: tensor.to(self.device) for name, tensor in tensors.items()}).cpu().numpy()
            # An outlier beyond the range of float16 becomes its largest number instead of infinity.
            states[batch] = np.clip(pooled, np.finfo(self._dtype).min, np.finfo(self._dtype).max)
        index_of = {prompt: index for index, prompt in enumerate(unique)}
        truncated = np.array([prompt.truncated for prompt in prompts], bool)
        tokens = np.array([len(prompt.ids) for prompt in prompts], np.int32)
        return PooledStates(states[[index_of[prompt] for prompt in prompts]], truncated, tokens)

    @torch.inference_mode()
    def pool_states(self, batch: dict[str, Tensor]) -> Tensor:
        """Run the model; return float32, shape (texts, layers, poolings, width). The last layer includes the final norm."""
        mask = batch["attention_mask"].bool()
        return torch.stack(
            [pool(hidden, mask, self._poolings) for hidden in self.model(**batch, output_hidden_states=True).hidden_states], 1
        )


def pool(hidden: Tensor, mask: Tensor, poolings: Sequence[str]) -> Tensor:
    """Pool states, shape (texts, tokens, width), of the unmasked tokens, at least one per text, to float32, (texts, poolings,
    width)."""
    hidden, padding = hidden.float(), ~mask.unsqueeze(-1)
    weights = mask.float() / mask.sum(1, keepdim=True)
    last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
    functions = {
        "mean": lambda: torch.bmm(weights.unsqueeze(1), hidden.masked_fill(padding, 0.0)).squeeze(1),
        "last": lambda: hidden[torch.arange(len(hidden), device=mask.device), last],
        "min": lambda: hidden.masked_fill(padding, math.inf).amin(1),
        "max": lambda: hidden.masked_fill(padding, -math.inf).amax(1),
    }
    return torch.stack([functions[pooling]() for pooling in poolings], 1)


class PromptEncoder(RowEncoder):
    """Encodes a prompt template with question and candidate as token ids.

    Special tokens in question and candidate are read as plain text; in the template, which the user writes, they count as such.
    Raises InputError: the template alone is too long.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, template: str, max_length: int) -> None:
        super().__init__(RowTokenizer.wrap(tokenizer), Input(), max_length)
        self.max_length = max_length
        parsed = list(string.Formatter().parse(template))
        self._literals = [
            tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] if text else [] for text, *_ in parsed
        ]
        self._fields = [name for _, name, *_ in parsed]
        self._max_field_tokens = max_length - sum(map(len, self._literals)) - sum(map(len, self._single_template))
        if self._max_field_tokens < len(parsed):
            raise InputError(f"the prompt {template!r:.80} leaves no room for an answer in {max_length} tokens; raise max_length")

    def encode_prompts(self, questions: Sequence[str], candidates: Sequence[str]) -> list[EncodedRow]:
        """Encode one prompt per answer; long ones lose the middle of the candidate first, then the start of the question."""
        if not candidates:
            return []
        used_questions = questions if "question" in self._fields else [""] * len(questions)
        return [self._fill_in(*pair) for pair in zip(self._tokens(used_questions), self._tokens(candidates), strict=True)]

    def _fill_in(self, question: list[int], candidate: list[int]) -> EncodedRow:
        question, candidate, _, truncated = truncate_parts(question, candidate, [], self._max_field_tokens)
        values = {"question": question, "candidate": candidate}
        body = chain.from_iterable(
            [*literal, *(values[field] if field else ())] for literal, field in zip(self._literals, self._fields, strict=True)
        )
        prefix, suffix = self._single_template
        ids = (*prefix, *body, *suffix)
        return EncodedRow(ids, (0,) * len(ids), truncated)
