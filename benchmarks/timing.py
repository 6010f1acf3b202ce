"""Shared parts of the speed benchmarks: real rows of mixed lengths, interleaved rounds, Markdown tables."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

FILES = (
    "nq_open_human",
    "truthfulqa_human",
    "hotpotqa_fireact",
    "tatqa_gpt3_codex",
    "gsm8k_gpt3",
    "gsm8k_44_models",
    "math_l5_43_models",
    "mmlu_pro_29_models",
    "mmlu_letters_10_models",
    "cot_arithmetic_commonsense",
)


@dataclass(frozen=True)
class Rows:
    """Questions, one reference each, candidates and labels, all of length n."""

    questions: list[str]
    references: list[str]
    candidates: list[str]
    labels: list[float]


@dataclass(frozen=True)
class Time:
    """Attributes: seconds by the clock, and of all processor cores together."""

    wall: float
    cpu: float


def mixed(rows: int, files: Sequence[str] = FILES, seed: int = 0) -> Rows:
    """Labelled rows, as many from each file, in random order."""
    folder = os.environ.get("BERT_JUDGE_DATA")
    if folder is None:
        sys.exit("BERT_JUDGE_DATA is not set; set it to the folder with the data files")
    share = -(-rows // len(files))
    frames = [pd.read_parquet(Path(folder, f"{name}.parquet")).dropna(subset=["label"]) for name in files]
    frame = pd.concat([part.sample(min(share, len(part)), random_state=seed) for part in frames])
    frame = frame.sample(min(rows, len(frame)), random_state=seed)
    references = [str(listed[0]) for listed in frame["references"]]
    return Rows(frame["question"].tolist(), references, frame["candidate"].tolist(), frame["label"].astype(float).tolist())


def alternate(ways: Mapping[str, Callable[[], object]], rounds: int) -> tuple[dict[str, Time], dict[str, object]]:
    """The best time of each way over several rounds, in each of which all take their turn, and what each gave.

    The best, and not the mean: other work on the machine only ever adds.
    """
    times: dict[str, list[Time]] = {name: [] for name in ways}
    results: dict[str, object] = {}
    for number in range(rounds):
        for name, way in ways.items():
            settle()
            wall, cpu = time.perf_counter(), time.process_time()
            results[name] = way()
            settle()
            times[name].append(Time(time.perf_counter() - wall, time.process_time() - cpu))
            print(f"round {number + 1} of {rounds}, {name}: {times[name][-1].wall:.1f} s", file=sys.stderr, flush=True)
    return {name: Time(min(t.wall for t in found), min(t.cpu for t in found)) for name, found in times.items()}, results


def settle() -> None:
    """Wait until a GPU has done what it was told to do: its calls come back before."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def table(header: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def machine() -> str:
    """What it ran on, in words."""
    capable = torch.cpu.get_capabilities()
    formats = [name for name in ("avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8") if capable.get(name)]
    name = capable.get("cpu_name") or platform.processor()
    fast = ", ".join(formats) or "no products of 8 or 16 bits"
    gpu = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}; " if torch.cuda.is_available() else ""
    cpu = f"{name}, {torch.get_num_threads()} threads, {fast}"
    return f"{gpu}torch {torch.__version__}; {cpu}; load average at the start {os.getloadavg()[0]:.1f}"
