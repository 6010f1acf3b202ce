"""Speed of extracting and pooling the hidden states of all layers, next to a plain forward pass of transformers.

    BERT_JUDGE_DATA=… python benchmarks/feature_throughput.py [--rows 200] [--rounds 3] [--batch 16] [--backbone minilm]

Plain: batches of equal numbers of rows in the given order, padded, `output_hidden_states=True`, pooled with numpy over the mask.
Here: `bert_judge.judges.probe.hidden_states`, with its own tokens per batch, but at most as many as the largest batch of the
plain pass. The two are interleaved; the best round of each counts. Peak memory is that of one process per implementation, above
what it holds before the first batch.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import timing
import torch
from transformers import AutoModel, AutoTokenizer

from bert_judge.assets.prepare import local_folder
from bert_judge.judges.probe import BASIC_POOLINGS, ProbeJudgeConfig
from bert_judge.judges.probe.hidden_states import BATCH_TOKENS, HiddenStateExtractor

SPEC: dict[str, Any] = {
    "prompt": ProbeJudgeConfig.model_fields["prompt"].default,
    "poolings": list(BASIC_POOLINGS),
    "max_length": 256,
    "precision": "float32",
    "storage_dtype": "float32",
}


class Plain:
    """What one writes first: all hidden states of padded batches, pooled with numpy."""

    def __init__(self, folder: Path, batch: int) -> None:
        self.tokenizer, self.model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.batch = batch

    def encoded(self, texts: list[str]) -> Any:
        return self.tokenizer(texts, padding=True, truncation=True, max_length=SPEC["max_length"], return_tensors="pt")

    def read(self, texts: list[str]) -> np.ndarray:
        """Shape (texts, layers, poolings, width)."""
        found = []
        for start in range(0, len(texts), self.batch):
            encoded = self.encoded(texts[start : start + self.batch])
            with torch.inference_mode():
                hidden = self.model(**encoded, output_hidden_states=True).hidden_states
            states = np.stack([layer.float().numpy() for layer in hidden], 1)
            found.append(_pooled(states, encoded["attention_mask"].numpy().astype(bool)))
        return np.concatenate(found)


def _pooled(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    there = mask[:, None, :, None]
    last = mask.shape[1] - 1 - mask[:, ::-1].argmax(1)
    return np.stack(
        [
            (states * there).sum(2) / there.sum(2),
            states[np.arange(len(states)), :, last],
            np.where(there, states, np.inf).min(2),
            np.where(there, states, -np.inf).max(2),
        ],
        2,
    )


def ways(options: argparse.Namespace) -> tuple[dict[str, Callable[[], np.ndarray]], int, int]:
    """The two ways over the same rows, and the most tokens in a batch of each."""
    torch.set_num_threads(options.threads)
    rows = timing.mixed(options.rows)
    folder = local_folder(options.backbone) or Path(options.backbone)
    plain = Plain(folder, options.batch)
    texts = [SPEC["prompt"].format(question=q, candidate=c) for q, c in zip(rows.questions, rows.candidates, strict=True)]
    starts = range(0, len(texts), options.batch)
    budget = max(int(plain.encoded(texts[start : start + options.batch])["input_ids"].numel()) for start in starts)
    own = min(budget, BATCH_TOKENS["cpu"])
    extractor = HiddenStateExtractor(folder, SPEC, batch_tokens=own)
    made = {"plain": lambda: plain.read(texts), "here": lambda: extractor.extract(rows.questions, rows.candidates).states}
    return made, budget, own


def peak(options: argparse.Namespace, name: str, answer: Any) -> None:
    """Megabytes that a way needs above what its process holds before the first batch."""
    way = ways(options)[0][name]
    # The peak begins anew here; `getrusage` would go on from that of the process which started this one.
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before = kilobytes("VmRSS")
    way()
    answer.put((kilobytes("VmHWM") - before) / 1000)


def kilobytes(entry: str) -> int:
    """An entry of Linux's account of this process."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{entry}:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backbone", default="minilm")
    options = parser.parse_args()
    made, budget, own = ways(options)
    times, _ = timing.alternate(made, options.rounds)
    memory = {}
    for name in made:
        processes = multiprocessing.get_context("spawn")
        answer = processes.Queue()
        process = processes.Process(target=peak, args=(options, name, answer))
        process.start()
        memory[name] = answer.get()
        process.join()
    print(timing.machine())
    print(f"{options.rows} rows; at most {budget} tokens in a plain batch, padding included, and {own} here\n")
    lines = [
        (name, f"{options.rows / found.wall:.1f}", f"{options.rows / found.cpu:.1f}", f"{memory[name]:.0f} MB")
        for name, found in times.items()
    ]
    print(timing.table(("way", "texts/s", "texts per core second", "peak memory above the start"), lines))
    print(
        f"\nhere / plain: {times['plain'].wall / times['here'].wall:.2f} by the clock, "
        f"{times['plain'].cpu / times['here'].cpu:.2f} by core seconds"
    )


if __name__ == "__main__":
    main()
