"""Speed of a trained judge, next to other implementations of the same checkpoint on the same rows.

    BERT_JUDGE_DATA=… python benchmarks/judge_speed.py [--judge general] [--rows 300] [--rounds 3] [--peers-python PYTHON …]

All implementations run on the GPU if there is one, otherwise on the CPU. They are interleaved over several rounds; the best round
of each counts. This judge scores duplicate rows once, the others every time; the third line says how many rows are distinct.

sentence-transformers' `CrossEncoder` runs with every backend of every `--peers-python` (default: this Python, with the extra
`bench`) in a process of its own, because its extras need other releases of transformers than this project, and than each other:

    python -m venv peers-openvino && peers-openvino/bin/pip install 'sentence-transformers[openvino]==6.2.0' datasets torch==2.13.0
    python -m venv peers-onnx && peers-onnx/bin/pip install 'sentence-transformers[onnx]==5.7.0' torch==2.13.0
    python benchmarks/judge_speed.py --peers-python peers-openvino/bin/python --peers-python peers-onnx/bin/python

Flips: share of rows whose verdict at 0.5 differs from that of the same implementation in float32 on PyTorch: for this judge's
encoder alone, from the encoder; with lexical features, from the whole judge without early exit; for CrossEncoder and plain
transformers, which truncate long rows in another way, from CrossEncoder. Largest change of a score: of this judge's encoder alone,
against float32 on PyTorch.

On a GPU every implementation has an untimed warm-up, and those that are slow per row (transformers with batch size 1; lexical
features, which run on the CPU) score the first `--slow-rows` rows only: their line says so, and their rates refer to these rows.

The causal model has random weights and only shows the cost. It runs row by row on the CPU, and in batches of 16,384 tokens sorted
by length on a GPU. Last comes an encoder of EuroBERT-210m's shape with random weights, against the machine's fastest matrix
multiplication.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers
import timing
import torch
from timing import Rows, Time

from bert_judge.encoder import checkpoint
from bert_judge.encoder.backend import OPENVINO, has_openvino
from bert_judge.encoder.judge_folder import find_folder
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.report import hub_folder
from bert_judge.runtime.hardware import best_device, best_dtype

ENCODER = "this judge, encoder alone"
EXACT, LOOP = f"{ENCODER}, float32", "transformers, batches of 1"
RIVAL, REFERENCE = "CrossEncoder", "CrossEncoder, PyTorch, float32"
EARLY, FEATURES = "this judge, lexical features and early exit", "this judge, lexical features, every row read"
# Peer → heading of the ratio to its fastest way.
PEERS = {
    LOOP: "against the loop at its best",
    f"{RIVAL}, PyTorch": "against CrossEncoder on PyTorch",
    RIVAL: "against CrossEncoder at its best",
}
CAUSAL, EUROBERT = "Qwen3-0.6B's shape, one token", "EuroBERT-210m's shape"
# What fits the CPU, and a GPU. None: all rows.
DEFAULTS: dict[bool, dict[str, int | None]] = {
    False: {"rows": 300, "rounds": 3, "slow_rows": None, "large_rows": 24},
    True: {"rows": 20_000, "rounds": 2, "slow_rows": 1_000, "large_rows": 4_000},
}


@dataclass(frozen=True)
class Way:
    """Attributes: run gives the scores of the first `rows` rows."""

    run: Callable[[], Any]
    rows: int


def columns(rows: Rows, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """Questions, references and candidates of a part of the rows."""
    part = slice(start, stop)
    return rows.questions[part], rows.references[part], rows.candidates[part]


def pairs(judge: BERTJudge, rows: Rows) -> peers.Pairs:
    """The rows as the sentence pairs that the judge reads."""
    separator = judge.checkpoint.tokenizer.backend.id_to_token(judge.checkpoint.tokenizer.separator_id)
    both = zip(rows.references, rows.candidates, rows.questions, strict=True)
    return [(reference, f"{candidate} {separator} {question}") for reference, candidate, question in both]


def same_checkpoint(judge: str, scratch: Path, rows: Rows, options: argparse.Namespace) -> str:
    """The table of the ways to run one checkpoint."""
    n = len(rows.labels)
    slow = min(options.slow_rows or n, n)
    # Encoder against encoder: the other ways know no lexical features.
    fast, exact = BERTJudge(judge, calibrated=False), BERTJudge(judge, calibrated=False, backend="torch", precision="float32")
    whole = BERTJudge(judge, backend="torch", precision="float32", early_exit=False)
    own = {EARLY: (BERTJudge(judge), slow), FEATURES: (BERTJudge(judge, early_exit=False), slow)}
    others = [fast]
    if not options.cuda and has_openvino():
        for kind in sorted({"int8", best_dtype("cpu")} - {fast.engine.choice.precision, "float32"}):
            others.append(BERTJudge(judge, calibrated=False, backend=OPENVINO, precision=kind))
    for other in others:
        own[f"{ENCODER} ({other.engine.choice.backend}, {other.engine.choice.precision})"] = (other, n)
    own[EXACT] = (exact, n)
    ways: dict[str, Way] = {}
    for name, (model, count) in own.items():
        # Converted, compiled and started up before the clock runs.
        model.predict(*columns(rows, 0, count if options.cuda else 8))
        ways[name] = Way(lambda model=model, count=count: model.predict(*columns(rows, 0, count)), count)
    texts, longest = pairs(exact, rows), exact.checkpoint.encoder.max_length
    # Weights in float32, which other programs read.
    folder = scratch / "published"
    hub_folder.write(exact.path, folder)
    for dtype in dict.fromkeys([torch.float32, getattr(torch, best_dtype(best_device()))]):
        name = str(dtype).removeprefix("torch.")
        for size, count in () if options.skip_plain else ((32, n), (1, slow)):
            read = peers.plain(folder, size, dtype, longest)
            if options.cuda:
                read(texts[:slow])
            ways[f"transformers, batches of {size}, {name}"] = Way(lambda read=read, count=count: read(texts[:count]), count)
    with peers.cross_encoders(options.peers_python or [sys.executable], folder, texts, longest) as processes:
        sizes: dict[str, int] = {}
        for process in processes:
            print(f"{RIVAL}: {process.versions}; {', '.join(process.ways)}")
            for name in process.ways:
                if f"{RIVAL}, {name}" not in sizes:
                    size = sizes[f"{RIVAL}, {name}"] = process.best_size(name)
                    run = lambda process=process, name=name, size=size: process.read(name, size, n)  # noqa: E731
                    ways[f"{RIVAL}, {name}"] = Way(run, n)
        print(f"{RIVAL}, best batch sizes: {', '.join(f'{name} {size}' for name, size in sizes.items())}\n", flush=True)
        times, scores = timing.alternate({name: way.run for name, way in ways.items()}, options.rounds)
    verdicts = {name: np.asarray(scores[name]) >= 0.5 for name in ways}
    truth = {name: verdicts[EXACT if name.startswith("this") else REFERENCE] for name in ways}
    truth |= dict.fromkeys((FEATURES, EARLY), whole.explain(*columns(rows, 0, slow)).scores >= 0.5)
    flips = {name: float(np.mean(verdicts[name] != truth[name][: way.rows])) for name, way in ways.items()}
    encoders = {name: scores[name] for name in ways if name.startswith(ENCODER)}
    changes = {name: float(np.abs(np.asarray(values) - np.asarray(scores[EXACT])).max()) for name, values in encoders.items()}
    return compared(ways, times, flips, changes, options.clock)


def compared(
    ways: Mapping[str, Way], times: Mapping[str, Time], flips: Mapping[str, float], changes: Mapping[str, float], clock: str
) -> str:
    """Rates, ratios, flipped verdicts and largest changes of a score of the ways."""
    seconds = {name: getattr(time, clock) / ways[name].rows for name, time in times.items()}
    found = {peer: [seconds[name] for name in ways if name.startswith(peer)] for peer in PEERS}
    fastest = {peer: min(values) for peer, values in found.items() if values}
    lines = [
        [
            name if way.rows == ways[EXACT].rows else f"{name} (by its first {way.rows} rows)",
            f"{way.rows / times[name].wall:.1f}",
            f"{way.rows / times[name].cpu:.1f}",
            *(f"{peer / seconds[name]:.2f}×" for peer in fastest.values()),
            f"{flips[name]:.2%}",
            f"{changes[name]:.3f}" if name in changes else "–",
        ]
        for name, way in ways.items()
    ]
    header = (
        "way",
        "rows/s",
        "rows per core second",
        *(PEERS[peer] for peer in fastest),
        "verdicts flipped",
        "largest change of a score",
    )
    return timing.table(header, lines)


def large_models(judge: str, options: argparse.Namespace) -> str:
    """The price of a prompted judge, and how much of the machine a large encoder uses."""
    rows = timing.mixed(options.large_rows)
    encoder = checkpoint.load(find_folder(judge)).encoder
    lengths = [len(row.ids) for row in encoder.encode(rows.questions, rows.candidates, rows.references)]
    device = best_device()
    dtype = getattr(torch, best_dtype(device))
    encoders, operations = peers.large(lengths)
    name = str(dtype).removeprefix("torch.")
    ways = {f"{CAUSAL}, {name}": peers.causal(lengths, dtype), **{f"{EUROBERT}, {way}": run for way, run in encoders.items()}}
    for run in (ways if options.cuda else encoders).values():
        run()
    ceiling = timing.matmul_rate(torch.device(device), dtype, 20)
    times, _ = timing.alternate(ways, max(1, options.rounds - 1))
    lines = [
        [
            way,
            f"{len(lengths) / time.wall:.2f}",
            f"{sum(lengths) / time.wall:.0f}",
            f"{operations / time.wall / ceiling:.0%}" if way.startswith(EUROBERT) else "–",
        ]
        for way, time in times.items()
    ]
    unit, short = (1e12, "TFLOPS") if ceiling >= 1e13 else (1e9, "GFLOPS")
    share = f"of the {ceiling / unit:.0f} {short} of a product of matrices in {name}"
    return f"{len(lengths)} rows\n\n{timing.table(('model, random weights', 'rows/s', 'tokens of rows/s', share), lines)}"


def main() -> None:
    cuda = best_device() == "cuda"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="general", help="general, or the folder of a trained judge")
    parser.add_argument("--peers-python", action="append", help="a Python with sentence-transformers; may be repeated")
    parser.add_argument("--skip-plain", action="store_true", help="without plain transformers")
    parser.add_argument(
        "--files", nargs="+", default=timing.FILES, help="data files, by name; ten that every judge was trained on by default"
    )
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--slow-rows", type=int, help="rows of the ways that are slow by the row; all on the CPU")
    parser.add_argument("--large-rows", type=int, help="rows of the two large models; 0 leaves them out")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what ratios are made of; cpu: on a busy machine")
    parser.set_defaults(cuda=cuda, **DEFAULTS[cuda])
    options = parser.parse_args()
    rows = timing.mixed(options.rows, options.files)
    unequal = len(set(zip(*columns(rows), strict=True)))
    print(f"{timing.machine()}\njudge: {options.judge}")
    print(f"{len(rows.labels)} rows of {len(options.files)} files, {unequal} of them distinct", flush=True)
    with tempfile.TemporaryDirectory(prefix="judge-speed-") as scratch:
        print(f"{same_checkpoint(options.judge, Path(scratch), rows, options)}\n", flush=True)
    if options.large_rows:
        print(large_models(options.judge, options))


if __name__ == "__main__":
    main()
