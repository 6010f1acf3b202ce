"""Rows per second of each stage of a prediction, alone, and of the whole judge.

    BERT_JUDGE_DATA=… python benchmarks/pipeline_stages.py [--judge general] [--rows 6000] [--rounds 2] [--batch-tokens N …]

Stages: normalised text, lexical features (in one process and in several), trees, tokenisation, encoder. The encoder also reads rows
of 32, 200 and 512 tokens each, whose rates are given as shares of the machine's fastest matrix multiplication too. Beside a GPU,
all stages but the encoder run on the CPU. Every stage runs once before the clock.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import timing
import torch

from bert_judge.encoder.encoding import EncodedRow
from bert_judge.judges.bert import stacker
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime.hardware import best_dtype
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.features import FeatureExtractor

LENGTHS, BATCHED_LENGTH = (32, 200, 512), 200
WORD_IDS = (1_000, 30_000)
# Rows that one process computes features for: enough to time, few enough not to wait for.
SINGLE_PROCESS_ROWS = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--judge", default="general")
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, nargs="*", default=[], help="sizes of batches to try for rows of 200 tokens")
    options = parser.parse_args()
    rows = timing.mixed(options.rows)
    judge, reader = BERTJudge(options.judge), BERTJudge(options.judge, early_exit=False)
    engine, encoder = judge.engine, judge.checkpoint.encoder
    references, candidates = normalize_inputs(rows.questions, rows.references, rows.candidates)
    first = [text for text, *_ in references]
    single, several = FeatureExtractor(1), FeatureExtractor(torch.get_num_threads())
    features = several.extract(rows.questions, references, candidates)
    encoded = encoder.encode(rows.questions, candidates, first)
    fixed = {length: random_rows(options.rows, length) for length in LENGTHS}
    part = slice(min(SINGLE_PROCESS_ROWS, options.rows))
    whole = rows.questions, rows.references, rows.candidates
    ways = {
        "normalise text": lambda: normalize_inputs(*whole),
        "features, 1 process": lambda: single.extract(rows.questions[part], references[part], candidates[part]),
        f"features, {several.processes} processes": lambda: several.extract(rows.questions, references, candidates),
        "trees": lambda: stacker.predict_tree_logits(judge.trees, features),
        "tokenise": lambda: encoder.encode(rows.questions, candidates, first),
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
    print(f"{timing.machine()}; {os.cpu_count()} cores\njudge: {options.judge}, {engine.choice.backend}, {engine.choice.precision}")
    tokens = np.mean([len(row.ids) for row in encoded])
    print(f"{len(rows.labels)} rows of {len(timing.FILES)} files, {tokens:.0f} tokens each on average\n", flush=True)
    for run in ways.values():
        run()
    times, _ = timing.alternate(ways, options.rounds)
    counts = {name: part.stop if "1 process" in name else options.rows for name in ways}
    print(timing.table(("stage", "rows/s"), [[name, f"{counts[name] / time.wall:.0f}"] for name, time in times.items()]))
    weights = sum(p.numel() for name, p in judge.checkpoint.model.named_parameters() if "encoder.layer" in name and p.ndim > 1)
    ceiling = timing.matmul_rate(torch.device(engine.device), getattr(torch, best_dtype(engine.device)))
    print()
    for length in LENGTHS:
        seconds = min(time.wall for name, time in times.items() if f" {length} tokens a row" in name)
        rate = 2 * weights * length * options.rows / seconds
        print(f"encoder, {length} tokens a row: {rate / 1e9:.0f} GFLOPS, {rate / ceiling:.0%} of {ceiling / 1e9:.0f}")


def random_rows(n: int, length: int) -> list[EncodedRow]:
    """Distinct rows of `length` tokens."""
    ids = np.random.default_rng(0).integers(*WORD_IDS, (n, length)).tolist()
    half = (0,) * (length // 2)
    return [EncodedRow(tuple(row), half + (1,) * (length - len(half)), truncated=False) for row in ids]


if __name__ == "__main__":
    main()
