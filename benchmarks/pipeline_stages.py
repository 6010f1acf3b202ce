"""Rows per second of each stage of a prediction, alone, and of the whole judge; and how well the stages overlap.

    BERT_JUDGE_DATA=… python benchmarks/pipeline_stages.py [--judge general] [--rows 6000] [--rounds 2] [--batch-tokens N …]
    BERT_JUDGE_DATA=… python benchmarks/pipeline_stages.py --overlap 24000 [--processes 8] [--rows 6000] [--rounds 2]

Stages: normalised text, lexical features (in one process and in several), trees, tokenisation, encoder. The encoder also reads rows
of 32, 200 and 512 tokens each, whose rates are given as shares of the machine's fastest matrix multiplication too. Beside a GPU,
all stages but the encoder run on the CPU. Every stage runs once before the clock.

`--overlap` replaces the encoder by a simulated one, which waits as long as a device of so many rows per second lets the CPU wait,
and then by one that is as slow as the stages of texts; early exit is off. It prints which share of the rate of its slowest stage
the whole judge reaches, and the time of its stages one after the other by that of the whole. The stages of texts count as one,
because the same processes do both. Then it times the judge with its own encoder in one process and in several.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import timing
import torch

from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.inference import EncoderOutput
from bert_judge.judges.bert import stacker
from bert_judge.judges.bert.judge import BERTJudge, _slices
from bert_judge.judges.bert.text_steps import normalize
from bert_judge.judges.protocol import Row
from bert_judge.labels.stage import SHARD_ROWS
from bert_judge.runtime.hardware import best_dtype

LENGTHS, BATCHED_LENGTH = (32, 200, 512), 200
WORD_IDS = (1_000, 30_000)
# Rows that one process computes features for: enough to time, few enough not to wait for.
TIMED_ROWS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--judge", default="general")
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, nargs="*", default=[], help="sizes of batches to try for rows of 200 tokens")
    parser.add_argument("--overlap", type=float, metavar="ROWS_PER_SECOND", help="rate of a simulated encoder")
    parser.add_argument("--processes", type=int, default=8, help="that read texts, for --overlap")
    options = parser.parse_args()
    rows = timing.mixed(options.rows)
    print(f"{timing.machine()}; {os.cpu_count()} cores")
    if options.overlap:
        measure_overlap(options, rows)
    else:
        measure_stages(options, rows)


def measure_stages(options: argparse.Namespace, rows: timing.Rows) -> None:
    judge, reader = BERTJudge(options.judge), BERTJudge(options.judge, early_exit=False)
    engine, encoder = judge.engine, judge.checkpoint.encoder
    texts = normalize(rows.questions, rows.references, rows.candidates)
    features = judge.text_steps.features(texts)
    first = [text for text, *_ in texts.references]
    encoded = encoder.encode(texts.questions, texts.candidates, first)
    fixed = {length: random_rows(options.rows, length) for length in LENGTHS}
    timed = slice(min(TIMED_ROWS, options.rows))
    whole = rows.questions, rows.references, rows.candidates
    ways = {
        "normalise text": lambda: normalize(*whole),
        "features, 1 process": lambda: judge.text_steps.features(texts.select(timed)),
        f"features, {judge.processes} processes": lambda: judge._map_texts("features", texts),
        "trees": lambda: stacker.predict_tree_logits(judge.trees, features),
        "tokenise": lambda: encoder.encode(texts.questions, texts.candidates, first),
        "encoder": lambda: engine.logits(encoded),
        **{f"encoder, {length} tokens a row": lambda rows=rows: engine.logits(rows) for length, rows in fixed.items()},
        "whole judge, every row read": lambda: reader.predict(*whole),
        "whole judge, early exit": lambda: judge.predict(*whole),
    }
    for size in options.batch_tokens:
        other = BERTJudge(options.judge, batch_tokens=size).engine
        ways[f"encoder, {BATCHED_LENGTH} tokens a row, batches of {size} tokens"] = lambda other=other: other.logits(
            fixed[BATCHED_LENGTH]
        )
    print(f"judge: {options.judge}, {engine.choice.backend}, {engine.choice.precision}")
    tokens = np.mean([len(row.ids) for row in encoded])
    print(f"{len(rows.labels)} rows of {len(timing.FILES)} files, {tokens:.0f} tokens each on average\n", flush=True)
    for run in ways.values():
        run()
    times, _ = timing.alternate(ways, options.rounds)
    counts = {name: timed.stop if "1 process" in name else len(rows.labels) for name in ways}
    print(timing.table(("stage", "rows/s"), [[name, f"{counts[name] / time.wall:.0f}"] for name, time in times.items()]))
    weights = sum(p.numel() for name, p in judge.checkpoint.model.named_parameters() if "encoder.layer" in name and p.ndim > 1)
    ceiling = timing.matmul_rate(torch.device(engine.device), getattr(torch, best_dtype(engine.device)))
    print()
    for length in LENGTHS:
        seconds = min(time.wall for name, time in times.items() if f" {length} tokens a row" in name)
        rate = 2 * weights * length * options.rows / seconds
        print(f"encoder, {length} tokens a row: {rate / 1e9:.0f} GFLOPS, {rate / ceiling:.0%} of {ceiling / 1e9:.0f}")


class SimulatedEncoder:
    """Stands in for a judge's `Engine`: waits as long as a device of `rows_per_second` takes, without the CPU."""

    logit_error = 0.0

    def __init__(self, rows_per_second: float) -> None:
        self.rows_per_second = rows_per_second

    def score(self, answers: Sequence[Any], *, exact: bool = False) -> EncoderOutput:
        time.sleep(0 if exact else len(answers) / self.rows_per_second)
        tokens = np.array([sum(len(row.ids) for row in rows) for rows in answers], int)
        return EncoderOutput(np.zeros(len(answers)), np.zeros(len(answers), bool), tokens)


def measure_overlap(options: argparse.Namespace, rows: timing.Rows) -> None:
    columns = zip(rows.questions, rows.references, rows.candidates, strict=True)
    answers = [Row(str(i), 0, "", question, (reference,), text) for i, (question, reference, text) in enumerate(columns)]
    shards = [answers[i : i + SHARD_ROWS] for i in range(0, len(answers), SHARD_ROWS)]
    single, judge = (BERTJudge(options.judge, early_exit=False) for _ in range(2))
    single.processes, judge.processes = 1, options.processes
    own_encoder = judge.engine
    judge.judge(answers)
    workers = judge._workers
    if workers is None:
        raise SystemExit("--rows: too few for worker processes")
    batches = [(answers[part],) for part in _slices(len(answers))]
    before, after, together = "texts before the encoder", "texts after it", "both"
    prepared = list(judge._map(workers, "prepare_rows", batches))
    simulated = SimulatedEncoder(options.overlap)
    predictions = [judge.text_steps.predict(batch, simulated.score(batch.encoded)) for batch in prepared]
    items = [(*batch, prediction) for batch, prediction in zip(batches, predictions, strict=True)]
    num_encoded = sum(len(batch.encoded) for batch in prepared)
    print(f"{len(answers)} rows, of which {num_encoded} are for the encoder; {options.processes} processes\n", flush=True)
    ways = {
        before: lambda: list(judge._map(workers, "prepare_rows", batches)),
        after: lambda: list(judge._map(workers, "label", items)),
        "own encoder, 1 process": lambda: list(single.judge_shards(shards)),
        f"own encoder, {options.processes} processes": lambda: list(judge.judge_shards(shards)),
    }
    times, _ = timing.alternate(ways, options.rounds)
    # The same processes do both.
    seconds = {before: times[before].wall, after: times[after].wall, together: times[before].wall + times[after].wall}
    lines = []
    for name, rate in (
        (f"{options.overlap:.0f} rows/s", options.overlap),
        ("as slow as the texts", num_encoded / seconds[together]),
    ):
        judge.engine = SimulatedEncoder(rate)  # type: ignore[assignment]
        [whole] = timing.alternate({name: lambda: list(judge.judge_shards(shards))}, options.rounds)[0].values()
        encoder = num_encoded / rate
        cells = [f"{len(answers) / value:.0f}" for value in (*seconds.values(), encoder, whole.wall)]
        shares = max(seconds[together], encoder) / whole.wall, (seconds[together] + encoder) / whole.wall
        lines.append([name, *cells, *(f"{share:.2f}" for share in shares)])
    print(timing.table(("simulated encoder", *seconds, "encoder", "whole", "whole, of the slowest stage", "stages / whole"), lines))
    judge.engine = SimulatedEncoder(options.overlap)  # type: ignore[assignment]
    start = time.process_time()
    list(judge.judge_shards(shards))
    print(f"\nthe calling process needs {1e6 * (time.process_time() - start) / len(answers):.0f} µs a row, without the encoder")
    rates = [f"{name}: {len(answers) / times[name].wall:.0f} rows/s" for name in ways if name.startswith("own")]
    print(f"whole judge with its encoder ({own_encoder.choice.backend}, {own_encoder.choice.precision}): {'; '.join(rates)}")


def random_rows(n: int, length: int) -> list[EncodedRow]:
    """Distinct rows of `length` tokens."""
    ids = np.random.default_rng(0).integers(*WORD_IDS, (n, length)).tolist()
    half = (0,) * (length // 2)
    return [EncodedRow(tuple(row), half + (1,) * (length - len(half)), truncated=False) for row in ids]


if __name__ == "__main__":
    main()
