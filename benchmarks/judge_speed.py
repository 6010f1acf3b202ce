"""Speed of a trained judge, next to other implementations of the same checkpoint on the same rows.

    BERT_JUDGE_DATA=… python benchmarks/judge_speed.py [--judge results/judges/bert] [--rows 300] [--rounds 3]

Needs the extra `bench`. All implementations run on the GPU if there is one, otherwise on the CPU. They are interleaved over
several rounds; the best round of each counts. Flips: share of rows whose verdict at 0.5 differs from that of the same encoder in
float32; for implementations with lexical features, from that of the whole judge in float32 without early exit. This judge scores
duplicate rows once, the others every time; the second line says how many rows are distinct.

On a GPU every implementation has an untimed warm-up, and those that are slow per row (transformers with batch size 1; lexical
features, which run on the CPU) score the first `--slow-rows` rows only: their line says so, and their rates refer to these rows.

The causal model has random weights and only shows the cost. It runs row by row on the CPU, and in batches of 16,384 tokens sorted
by length on a GPU. Last comes an encoder of EuroBERT-210m's shape with random weights, against the machine's fastest matrix
multiplication.
"""

from __future__ import annotations

import argparse
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

from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.config import Training
from bert_judge.judges.bert import checkpoint
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime.hardware import best_device, best_dtype

EXACT, LOOP = "this judge, encoder alone, float32", "transformers, batches of 1"
RIVAL = "CrossEncoder"
EARLY, FEATURES = "this judge, lexical features and early exit", "this judge, lexical features, every row read"
HEADER = (
    "way",
    "rows/s",
    "rows per core second",
    "against the loop at its best",
    "against CrossEncoder at its best",
    "verdicts flipped",
)
CAUSAL, EUROBERT = "Qwen3-0.6B's shape, one token", "EuroBERT-210m's shape"
# What fits the CPU, and a GPU. None: all rows.
DEFAULTS: dict[bool, dict[str, int | None]] = {
    False: {"rows": 300, "rounds": 3, "slow_rows": None, "large_rows": 24},
    True: {"rows": 20_000, "rounds": 2, "slow_rows": 1_000, "large_rows": 4_000},
}
# Rows that a judge is trained on here, and further ones that its encoder and its trees are weighed on.
TRAINED_ON, WEIGHED_ON = 320, 160


@dataclass(frozen=True)
class Way:
    """Attributes: run gives the scores of the first `rows` rows."""

    run: Callable[[], Any]
    rows: int


def trained(folder: Path, backbone: str) -> Path:
    """A judge trained for a minute, lexical features included; some of its rows may be among those that are timed."""
    rows = timing.mixed(TRAINED_ON + WEIGHED_ON, seed=1)
    seen, held = columns(rows, 0, TRAINED_ON), columns(rows, TRAINED_ON)
    prepare({"repository": backbone, "revision": None, "remote_code": False}, folder / "backbone.json")
    judge = BERTJudge(load_manifest(folder / "backbone.json").path)
    judge.fit(*seen, rows.labels[:TRAINED_ON], training=Training(epochs=1), work_folder=folder / "work")
    judge.calibrate(*held, rows.labels[TRAINED_ON:])
    judge.save(folder / "judge")
    return folder / "judge"


def columns(rows: Rows, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str], list[str]]:
    """Questions, references and candidates of a part of the rows."""
    part = slice(start, stop)
    return rows.questions[part], rows.references[part], rows.candidates[part]


def pairs(judge: BERTJudge, rows: Rows) -> peers.Pairs:
    """The rows as the sentence pairs that the judge reads."""
    separator = judge.checkpoint.tokenizer.sep_token
    both = zip(rows.references, rows.candidates, rows.questions, strict=True)
    return [(reference, f"{candidate} {separator} {question}") for reference, candidate, question in both]


def same_checkpoint(folder: Path, rows: Rows, options: argparse.Namespace) -> str:
    """The table of the ways to run one checkpoint."""
    n = len(rows.labels)
    slow = min(options.slow_rows or n, n)
    # Encoder against encoder: the other ways know no lexical features.
    fast, exact = BERTJudge(folder, calibrated=False), BERTJudge(folder, calibrated=False, backend="torch", precision="float32")
    whole = BERTJudge(folder, backend="torch", precision="float32", early_exit=False)
    own = {
        EARLY: (BERTJudge(folder), slow),
        FEATURES: (BERTJudge(folder, early_exit=False), slow),
        f"this judge, encoder alone ({fast.engine.choice.backend}, {fast.engine.choice.precision})": (fast, n),
        EXACT: (exact, n),
    }
    ways: dict[str, Way] = {}
    for name, (judge, count) in own.items():
        # Converted, compiled and started up before the clock runs.
        judge.predict(*columns(rows, 0, count if options.cuda else 8))
        ways[name] = Way(lambda judge=judge, count=count: judge.predict(*columns(rows, 0, count)), count)
    texts, longest = pairs(exact, rows), exact.checkpoint.encoder.max_length
    for dtype in dict.fromkeys([torch.float32, best_dtype(best_device())]):
        name = str(dtype).removeprefix("torch.")
        best, read = peers.cross_encoder(folder, texts, dtype, longest)
        ways[f"{RIVAL}, batches of {best}, {name}"] = Way(lambda read=read: read(texts), n)
        for size, count in ((32, n), (1, slow)):
            read = peers.plain(folder, size, dtype, longest)
            if options.cuda:
                read(texts[:slow])
            ways[f"transformers, batches of {size}, {name}"] = Way(lambda read=read, count=count: read(texts[:count]), count)
    times, scores = timing.alternate({name: way.run for name, way in ways.items()}, options.rounds)
    truth = dict.fromkeys(ways, np.asarray(scores[EXACT]) >= 0.5)
    truth |= dict.fromkeys((FEATURES, EARLY), whole.explain(*columns(rows, 0, slow)).scores >= 0.5)
    return compared(ways, times, scores, truth, options.clock)


def compared(
    ways: Mapping[str, Way], times: Mapping[str, Time], scores: Mapping[str, Any], truth: Mapping[str, np.ndarray], clock: str
) -> str:
    """Rates, ratios and flipped verdicts of the ways; `truth` has the verdicts that they should give."""
    seconds = {name: getattr(time, clock) / ways[name].rows for name, time in times.items()}
    loop, rival = (min(seconds[name] for name in ways if name.startswith(peer)) for peer in (LOOP, RIVAL))
    lines = [
        [
            name if way.rows == ways[EXACT].rows else f"{name} (by its first {way.rows} rows)",
            f"{way.rows / times[name].wall:.1f}",
            f"{way.rows / times[name].cpu:.1f}",
            f"{loop / seconds[name]:.2f}×",
            f"{rival / seconds[name]:.2f}×",
            f"{np.mean((np.asarray(scores[name]) >= 0.5) != truth[name][: way.rows]):.2%}",
        ]
        for name, way in ways.items()
    ]
    return timing.table(HEADER, lines)


def large_models(folder: Path, options: argparse.Namespace) -> str:
    """The price of a prompted judge, and how much of the machine a large encoder uses."""
    rows = timing.mixed(options.large_rows)
    encoder = checkpoint.load(folder).encoder
    lengths = [len(row.ids) for row in encoder.encode(rows.questions, rows.candidates, rows.references)]
    device = best_device()
    dtype = best_dtype(device)
    encoders, operations = peers.large(lengths)
    name = str(dtype).removeprefix("torch.")
    ways = {f"{CAUSAL}, {name}": peers.causal(lengths, dtype), **{f"{EUROBERT}, {way}": run for way, run in encoders.items()}}
    for run in (ways if options.cuda else encoders).values():
        run()
    ceiling = timing.matmul_rate(device, dtype, 20)
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
    cuda = best_device().type == "cuda"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, help="folder of a trained judge; without it one is trained for a minute")
    parser.add_argument("--backbone", default="minilm", help="of the judge that is trained, as in a judge's configuration")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--slow-rows", type=int, help="rows of the ways that are slow by the row; all on the CPU")
    parser.add_argument("--large-rows", type=int, help="rows of the two large models; 0 leaves them out")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what ratios are made of; cpu: on a busy machine")
    parser.set_defaults(cuda=cuda, **DEFAULTS[cuda])
    options = parser.parse_args()
    rows = timing.mixed(options.rows)
    with tempfile.TemporaryDirectory(prefix="judge-speed-") as scratch:
        folder = options.judge or trained(Path(scratch), options.backbone)
        which = options.judge or f"trained now on {TRAINED_ON} rows"
        unequal = len(set(zip(*columns(rows), strict=True)))
        found = f"{len(rows.labels)} rows of {len(timing.FILES)} files, {unequal} of them distinct"
        print(f"{timing.machine()}\njudge: {which}; {found}\n", flush=True)
        print(f"{same_checkpoint(folder, rows, options)}\n", flush=True)
        if options.large_rows:
            print(large_models(folder, options))


if __name__ == "__main__":
    main()
