"""Shared parts of the speed benchmarks: real rows of mixed lengths, interleaved rounds, Markdown tables."""

from __future__ import annotations

# Before torch is loaded: it sets how threads wait for each other.
import bert_judge  # noqa: F401  # isort: skip

import math
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil
import torch

# Shapes (rows, width, inner width) that `matmul_rate` times: an encoder's feed-forward layer, with enough rows to fill a GPU; on
# CUDA also a square product, the best case of its library.
CPU_PRODUCTS = ((2048, 768, 3072),)
CUDA_PRODUCTS = ((65536, 768, 3072), (8192, 8192, 8192))
# Minimum duration of a measurement in seconds, long compared with synchronisation.
MIN_MEASURED_SECONDS = 0.02

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
    """Attributes: seconds by the clock, and of all processor cores together, those of child processes included."""

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
            wall, cpu = time.perf_counter(), processor_seconds()
            results[name] = way()
            settle()
            times[name].append(Time(time.perf_counter() - wall, processor_seconds() - cpu))
            print(f"round {number + 1} of {rounds}, {name}: {times[name][-1].wall:.1f} s", file=sys.stderr, flush=True)
    return {name: Time(min(t.wall for t in found), min(t.cpu for t in found)) for name, found in times.items()}, results


def processor_seconds() -> float:
    """Seconds of processor time of this process and its children, those that have ended included."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:4]) for process in processes)


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


def matmul_rate(device: torch.device, dtype: torch.dtype, times: int = 3) -> float:
    """Measure the floating-point operations per second of large matrix products, an upper bound for an encoder.

    The factors are random: zeros and ones draw less power and so run faster than real data. On CUDA the
    better of two shapes counts.

    Args:
        times: measurements per shape, of which the best counts.
    """
    shapes = CUDA_PRODUCTS if device.type == "cuda" else CPU_PRODUCTS
    return max(_product_rate(device, dtype, shape, times) for shape in shapes)


def _product_rate(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int], times: int) -> float:
    rows, width, inner = shape
    # A separate generator, so that this measurement does not change the random numbers of a training run.
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(size, generator=generator, device=device, dtype=dtype) for size in ((rows, width), (width, inner)))
    product = torch.empty((rows, inner), device=device, dtype=dtype)

    def seconds(products: int) -> float:
        started = time.perf_counter()
        for _ in range(products):
            torch.mm(a, b, out=product)
        # Reading a number waits for asynchronous devices.
        product[0, 0].item()
        return (time.perf_counter() - started) / products

    seconds(1)  # warm-up
    products = math.ceil(MIN_MEASURED_SECONDS / seconds(1))
    return 2 * rows * width * inner / min(seconds(products) for _ in range(times))
