"""Implementations that `judge_speed.py` compares a judge with, each a function that scores all rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import timing
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel
from transformers.models.eurobert import EuroBertConfig
from transformers.models.qwen3 import Qwen3Config

from bert_judge.encoder.backend import (
    OPENVINO,
    Backend,
    BackendChoice,
    batch_by_tokens,
    choose_backend,
    compute_logits,
    has_openvino,
)
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.torch_model import TorchBackend
from bert_judge.runtime.hardware import best_device, best_dtype, supports_int8

PROCESS = Path(__file__).with_name("peer_process.py")
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


class PeerProcess:
    """sentence-transformers' `CrossEncoder` with all backends of a Python, or vLLM, in a process: see `peer_process.py`.

    Args:
        library: `cross-encoder` or `vllm`.

    Attributes:
        versions: of the packages, for the output.
        ways: names of the backends with their precision.
    """

    def __init__(self, python: str, folder: Path, pairs: Pairs, longest: int, library: str = "cross-encoder") -> None:
        dtypes = dict.fromkeys(["float32", best_dtype(best_device())])
        command = [python, str(PROCESS), library, str(folder), str(longest), *dtypes]
        self.pairs = pairs
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions, self.ways = self._ask(pairs)

    def _ask(self, request: object) -> Any:
        assert self.process.stdin and self.process.stdout
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{' '.join(self.process.args[:2])} ended; does this Python have what the script imports?")
        return json.loads(answer)

    def read(self, way: str, size: int, n: int) -> np.ndarray:
        """Return the scores of the first n pairs, in batches of `size`."""
        return np.array(self._ask([way, size, n]))

    def best_size(self, way: str) -> int:
        """Return the batch size that suits a way best, measured on a part of the pairs."""
        part, sizes = min(max(64, len(self.pairs) // 4), TRIED_ROWS, len(self.pairs)), CPU_SIZES
        if best_device() == "cuda":
            sizes = CUDA_SIZES
        # Otherwise the first size would pay for the start of the libraries.
        self.read(way, sizes[0], sizes[0])
        times, _ = timing.alternate({f"{way}, batches of {size}": lambda s=size: self.read(way, s, part) for size in sizes}, 1)
        return min(zip(times.values(), sizes, strict=True), key=lambda item: item[0].wall)[1]


@contextmanager
def cross_encoders(pythons: Sequence[str], folder: Path, pairs: Pairs, longest: int) -> Iterator[list[PeerProcess]]:
    """Start a process for each Python; they end with the context."""
    with ExitStack() as stack:
        started = []
        for python in pythons:
            started.append(PeerProcess(python, folder, pairs, longest))
            stack.enter_context(started[-1].process)
        yield started


def causal(lengths: Sequence[int], dtype: torch.dtype) -> Run:
    """A prompted model of 0.6B parameters that reads a row with its instructions and gives one token, on the best device.

    On a GPU it reads rows of similar length in batches of `CAUSAL_BUDGET` tokens, or launching kernels would be its price; on a CPU
    every row alone. The instructions are read with every row: a server that keeps them would spare their part.
    """
    device = best_device()
    model = AutoModelForCausalLM.from_config(Qwen3Config(**QWEN3_06B), dtype=dtype).to(device).eval()
    whole = [n + INSTRUCTIONS for n in lengths]
    budget = CAUSAL_BUDGET if device == "cuda" else 0

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
    if device == "cpu" and supports_int8() and has_openvino():
        choices.append(choose_backend(OPENVINO, "int8", device, model.num_parameters()))
    made = [backend_of(choice, model) for choice in dict.fromkeys(choices)]
    return {backend.name: lambda backend=backend: compute_logits(backend, rows, 0) for backend in made}, float(operations)


def backend_of(choice: BackendChoice, model: PreTrainedModel) -> Backend:
    if choice.backend == "torch":
        return TorchBackend(model, choice.precision)
    # Not installed everywhere.
    from bert_judge.encoder.conversion import convert

    return convert(model, choice.precision)


def eurobert(lengths: Sequence[int]) -> tuple[PreTrainedModel, list[EncodedRow]]:
    """A model of EuroBERT-210m's shape with random weights, on the best device, and rows of these lengths.

    No two rows are equal, or they would be read once.
    """
    model = AutoModelForSequenceClassification.from_config(EuroBertConfig(num_labels=2)).to(best_device()).eval()
    return model, [EncodedRow((100 + i, *range(1000, 999 + n)), (0,) * n, False) for i, n in enumerate(lengths)]
