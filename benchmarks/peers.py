"""Implementations that `judge_speed.py` compares a judge with, each a function that scores all rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import timing
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel
from transformers.models.eurobert import EuroBertConfig
from transformers.models.qwen3 import Qwen3Config

from bert_judge.judges.bert import inference, openvino
from bert_judge.judges.bert.backend import OPENVINO, Backend, BackendChoice, TorchBackend, choose_backend, has_openvino
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import batch_by_tokens
from bert_judge.runtime.hardware import best_device, supports_int8

try:
    from sentence_transformers import CrossEncoder
except ModuleNotFoundError as error:
    if error.name != "sentence_transformers":
        raise
    sys.exit("sentence-transformers is not installed; pip install -e '.[bench]'")

Pairs = list[tuple[str, str]]
Run = Callable[[], np.ndarray]
Read = Callable[[Pairs], np.ndarray]

# Published: https://huggingface.co/Qwen/Qwen3-0.6B/blob/main/config.json
QWEN3_06B = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
# Tokens of the instructions that a prompted judge reads with every row.
INSTRUCTIONS = 120
# Rows of a batch that CrossEncoder may choose from, and the most rows that it chooses by.
CPU_SIZES, CUDA_SIZES, TRIED_ROWS = (8, 16, 32), (32, 128, 512, 1024), 4096
# Tokens of a batch of the causal model, padding included.
CAUSAL_BUDGET = 16384


def plain(folder: Path, size: int, dtype: torch.dtype, longest: int) -> Read:
    """Transformers as its documentation shows it: padded batches in the order of the rows, on the best device."""
    device = best_device()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype).to(device).eval()

    def read(texts: Pairs) -> np.ndarray:
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), size):
                some = texts[start : start + size]
                batch = tokenizer(some, padding=True, truncation=True, max_length=longest, return_tensors="pt")
                logits = model(**batch.to(device)).logits.float()
                found.append(torch.sigmoid(logits[:, 1] - logits[:, 0]).cpu().numpy())
        return np.concatenate(found)

    return read


def cross_encoder(folder: Path, texts: Pairs, dtype: torch.dtype, longest: int) -> tuple[int, Read]:
    """sentence-transformers on the best device, and the batch size that suits it best on a part of the rows."""
    device = best_device()
    model = CrossEncoder(str(folder), max_length=longest, device=str(device), model_kwargs={"dtype": dtype})

    def read(size: int, some: Pairs) -> np.ndarray:
        logits = model.predict(some, batch_size=size, show_progress_bar=False, activation_fn=torch.nn.Identity())
        wide = np.asarray(logits, float)
        return 1 / (1 + np.exp(wide[:, 0] - wide[:, 1]))

    part, sizes = texts[: min(max(64, len(texts) // 4), TRIED_ROWS)], CPU_SIZES
    if device.type == "cuda":
        sizes = CUDA_SIZES
        read(sizes[0], part)  # or the first size would pay for the start of the GPU's libraries
    times, _ = timing.alternate({str(size): lambda size=size: read(size, part) for size in sizes}, 1)
    best = int(min(times, key=lambda size: times[size].wall))
    return best, lambda some: read(best, some)


def causal(lengths: Sequence[int], dtype: torch.dtype) -> Run:
    """A prompted model of 0.6B parameters that reads a row with its instructions and gives one token, on the best device.

    On a GPU it reads rows of similar length in batches of `CAUSAL_BUDGET` tokens, or launching kernels would be its price; on a CPU
    every row alone. The instructions are read with every row: a server that keeps them would spare their part.
    """
    device = best_device()
    model = AutoModelForCausalLM.from_config(Qwen3Config(**QWEN3_06B), dtype=dtype).to(device).eval()
    whole = [n + INSTRUCTIONS for n in lengths]
    budget = CAUSAL_BUDGET if device.type == "cuda" else 0

    def run() -> np.ndarray:
        found = np.zeros(len(whole), int)
        with torch.inference_mode():
            for batch in batch_by_tokens(whole, budget):
                longest = whole[batch[0]]
                own = torch.tensor([whole[i] for i in batch], device=device)
                # Padding on the left, so that every row's last token is its own.
                mask = torch.arange(longest, device=device) >= longest - own[:, None]
                ids = torch.full((len(batch), longest), 7, device=device)
                logits = model(ids, attention_mask=mask.long(), logits_to_keep=1, use_cache=False).logits
                found[batch] = logits[:, -1].argmax(-1).cpu().numpy()
        return found

    return run


def large(lengths: Sequence[int]) -> tuple[dict[str, Run], float]:
    """An encoder of EuroBERT-210m's shape on the best device, and the operations of its products over rows of these lengths.

    Returns:
        Way → run, for the automatic choice and, where the CPU sums 8-bit products, for int8; operations.
    """
    device = best_device()
    model, rows = eurobert(lengths)
    config = model.config
    per_token = 2 * sum(p.numel() for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name)
    attention = 4 * config.num_hidden_layers * config.hidden_size
    operations = sum(per_token * n + attention * n * n for n in lengths)
    choices = [choose_backend("auto", "auto", device, model.num_parameters())]
    if device.type == "cpu" and supports_int8() and has_openvino():
        choices.append(choose_backend(OPENVINO, "int8", device, model.num_parameters()))
    made = [backend_of(choice, model) for choice in dict.fromkeys(choices)]
    return {backend.name: lambda backend=backend: inference.compute_logits(backend, rows, 0) for backend in made}, float(operations)


def backend_of(choice: BackendChoice, model: PreTrainedModel) -> Backend:
    if choice.backend == "torch":
        return TorchBackend(model, choice.precision)
    return openvino.convert(model, choice.precision)


def eurobert(lengths: Sequence[int]) -> tuple[PreTrainedModel, list[EncodedRow]]:
    """A model of EuroBERT-210m's shape with random weights, on the best device, and rows of these lengths.

    No two rows are equal, or they would be read once.
    """
    model = AutoModelForSequenceClassification.from_config(EuroBertConfig(num_labels=2)).to(best_device()).eval()
    return model, [EncodedRow((100 + i, *range(1000, 999 + n)), (0,) * n, False) for i, n in enumerate(lengths)]
