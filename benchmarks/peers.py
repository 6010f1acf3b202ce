"""The other ways to judge that `judge_speed.py` compares with, each as a function that reads all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import timing
import torch
from sentence_transformers import CrossEncoder
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from transformers.models.eurobert import EuroBertConfig
from transformers.models.qwen3 import Qwen3Config

from bert_judge.encoder import inference
from bert_judge.encoder.backends.pytorch import TorchBackend
from bert_judge.encoder.encoding import Encoded

Pairs = list[tuple[str, str]]
Run = Callable[[], np.ndarray]

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


def plain(folder: Path, texts: Pairs, size: int, dtype: torch.dtype, longest: int) -> Run:
    """Transformers as its documentation shows it: padded batches in the order of the rows."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype).eval()

    def run() -> np.ndarray:
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), size):
                some = texts[start : start + size]
                batch = tokenizer(some, padding=True, truncation=True, max_length=longest, return_tensors="pt")
                logits = model(**batch).logits.float()
                found.append(torch.sigmoid(logits[:, 1] - logits[:, 0]).numpy())
        return np.concatenate(found)

    return run


def cross_encoder(folder: Path, texts: Pairs, dtype: torch.dtype, longest: int) -> tuple[int, Run]:
    """sentence-transformers, and the batch size that suits it best on a part of the rows."""
    model = CrossEncoder(str(folder), max_length=longest, device="cpu", model_kwargs={"dtype": dtype})

    def run(size: int, some: Pairs) -> np.ndarray:
        logits = model.predict(some, batch_size=size, show_progress_bar=False, activation_fn=torch.nn.Identity())
        wide = np.asarray(logits, float)
        return 1 / (1 + np.exp(wide[:, 0] - wide[:, 1]))

    part = texts[: max(64, len(texts) // 4)]
    times, _ = timing.alternate({str(size): lambda size=size: run(size, part) for size in (8, 16, 32)}, 1)
    best = int(min(times, key=lambda size: times[size].wall))
    return best, lambda: run(best, texts)


def causal(lengths: Sequence[int], dtype: torch.dtype) -> Run:
    """A prompted model of 0.6B parameters that reads a row with its instructions and gives one token."""
    model = AutoModelForCausalLM.from_config(Qwen3Config(**QWEN3_06B), dtype=dtype).eval()

    def run() -> np.ndarray:
        with torch.inference_mode():
            read = [model(torch.full((1, n + INSTRUCTIONS), 7), logits_to_keep=1).logits[0, -1].argmax() for n in lengths]
        return np.array(read)

    return run


def large(lengths: Sequence[int], dtype: torch.dtype) -> tuple[Run, float]:
    """An encoder of EuroBERT-210m's shape, and the operations of its matrix products over rows of these lengths."""
    config = EuroBertConfig(num_labels=2)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    per_token = 2 * sum(p.numel() for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name)
    attention = 4 * config.num_hidden_layers * config.hidden_size
    operations = sum(per_token * n + attention * n * n for n in lengths)
    # No two rows are equal, or they would be read once.
    rows = [Encoded((100 + i, *range(1000, 999 + n)), (0,) * n, False) for i, n in enumerate(lengths)]
    return lambda: inference.logits(TorchBackend(model, dtype), rows, 0), float(operations)
