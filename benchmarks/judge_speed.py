"""How fast a trained judge reads, beside other ways to run the same checkpoint on the same rows.

    BERT_JUDGE_DATA=… python benchmarks/judge_speed.py [--judge results/judges/bert] [--rows 300] [--rounds 3]

Needs the extra `bench`. All ways take turns, several rounds; each one's best round counts. Flips: share of rows whose verdict at
0.5 differs from that of the same encoder in float32. The causal model has random weights: it is there for its price. Last, an
encoder of EuroBERT-210m's shape, random weights, against the largest rate at which this machine multiplies matrices.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers
import timing
import torch
from timing import Rows, Time

from bert_judge.config import Training
from bert_judge.encoder import checkpoint
from bert_judge.encoder.hardware import best_dtype, matmul_rate
from bert_judge.judges.bert import BERTJudge
from bert_judge.prepare import load_manifest, prepare

CPU = torch.device("cpu")
EXACT, LOOP = "this judge, float32", "transformers, batches of 1, float32"
FEATURES = "this judge, auto, with lexical features"
HEADER = ("way", "rows/s", "rows per core second", "against the loop", "against CrossEncoder at its best", "verdicts flipped")


def trained(folder: Path) -> Path:
    """A judge trained for a minute on other rows than those that are timed."""
    rows = timing.mixed(320, seed=1)
    prepare({"repository": "minilm", "revision": None, "remote_code": False}, folder / "backbone.json")
    judge = BERTJudge(load_manifest(folder / "backbone.json").path)
    texts = (rows.questions, rows.references, rows.candidates)
    judge.fit(*texts, rows.labels, training=Training(epochs=1), features=False, work_folder=folder / "work")
    judge.save(folder / "judge")
    return folder / "judge"


def pairs(judge: BERTJudge, rows: Rows) -> peers.Pairs:
    """The rows as the sentence pairs that the judge reads."""
    separator = judge.checkpoint.tokenizer.sep_token
    both = zip(rows.references, rows.candidates, rows.questions, strict=True)
    return [(reference, f"{candidate} {separator} {question}") for reference, candidate, question in both]


def same_checkpoint(folder: Path, options: argparse.Namespace) -> str:
    """The table of the ways to run one checkpoint."""
    rows = timing.mixed(options.rows)
    columns = (rows.questions, rows.references, rows.candidates)
    # Encoder against encoder: the other ways know no lexical features.
    fast, whole = BERTJudge(folder, calibrated=False), BERTJudge(folder)
    exact = BERTJudge(folder, calibrated=False, backend="torch", precision="float32")
    for judge in (fast, whole):
        judge.predict(*(column[:8] for column in columns))  # converted before the clock starts
    choice = fast.engine.choice
    ways: dict[str, Callable[[], Any]] = {
        f"this judge, auto ({choice.backend}, {choice.precision})": lambda: fast.predict(*columns),
        FEATURES: lambda: whole.predict(*columns),
        EXACT: lambda: exact.predict(*columns),
    }
    texts, longest, rivals = pairs(exact, rows), exact.checkpoint.encoder.max_length, []
    for dtype in dict.fromkeys([torch.float32, best_dtype(CPU)]):
        name = str(dtype).removeprefix("torch.")
        size, run = peers.cross_encoder(folder, texts, dtype, longest)
        rivals.append(f"CrossEncoder, batches of {size}, {name}")
        ways[rivals[-1]] = run
        for size in (32, 1):
            ways[f"transformers, batches of {size}, {name}"] = peers.plain(folder, texts, size, dtype, longest)
    times, scores = timing.alternate(ways, options.rounds)
    return compared(times, scores, rivals, options)


def compared(times: dict[str, Time], scores: dict[str, Any], rivals: Sequence[str], options: argparse.Namespace) -> str:
    """Rates, ratios and flipped verdicts of the ways."""
    seconds = {name: getattr(time, options.clock) for name, time in times.items()}
    rival = min(seconds[name] for name in rivals)
    truth = np.asarray(scores[EXACT]) >= 0.5
    lines = [
        [
            name,
            f"{options.rows / time.wall:.1f}",
            f"{options.rows / time.cpu:.1f}",
            f"{seconds[LOOP] / seconds[name]:.2f}×",
            f"{rival / seconds[name]:.2f}×",
            "–" if name == FEATURES else f"{np.mean((np.asarray(scores[name]) >= 0.5) != truth):.2%}",
        ]
        for name, time in times.items()
    ]
    return timing.table(HEADER, lines)


def large_models(folder: Path, options: argparse.Namespace) -> str:
    """The price of a prompted judge, and how much of the machine a large encoder uses."""
    rows = timing.mixed(options.large_rows)
    encoder = checkpoint.load(folder).encoder
    lengths = [len(row.ids) for row in encoder.encode(rows.questions, rows.candidates, rows.references)]
    dtype = best_dtype(CPU)
    run, operations = peers.large(lengths, dtype)
    ways = {"Qwen3-0.6B's shape, one token": peers.causal(lengths, dtype), "EuroBERT-210m's shape": run}
    ceiling = matmul_rate(CPU, dtype, 20)
    times, _ = timing.alternate(ways, max(1, options.rounds - 1))
    lines = [[way, f"{len(lengths) / time.wall:.2f}", f"{sum(lengths) / time.wall:.0f}"] for way, time in times.items()]
    rate = operations / times["EuroBERT-210m's shape"].wall
    share = f"{rate / ceiling:.0%} of the {ceiling / 1e9:.0f} of a matrix product alone"
    found = timing.table((f"model, random weights, {str(dtype).removeprefix('torch.')}", "rows/s", "tokens of rows/s"), lines)
    return f"{found}\n\nEuroBERT-210m's shape: {rate / 1e9:.0f} GFLOPS, {share}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, help="folder of a trained judge; without it one is trained for a minute")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large-rows", type=int, default=24, help="rows of the two large models; 0 leaves them out")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what ratios are made of; cpu: on a busy machine")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="judge-speed-") as scratch:
        folder = options.judge or trained(Path(scratch))
        which = options.judge or "trained now on 320 rows"
        print(f"{timing.machine()}\njudge: {which}; {options.rows} rows of {len(timing.FILES)} files\n", flush=True)
        print(f"{same_checkpoint(folder, options)}\n", flush=True)
        if options.large_rows:
            print(large_models(folder, options))


if __name__ == "__main__":
    main()
