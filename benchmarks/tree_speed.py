"""Microseconds per row of boosted trees, evaluated by `bert_judge.judges.bert.trees` and by LightGBM, on one core.

    python benchmarks/tree_speed.py [--rounds 7]

Trains trees of the size of a judge's on random features, and prints a line per number of rows that are evaluated together; the two
are interleaved, and the best round counts. Ends with an error if any prediction differs.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["OMP_NUM_THREADS"] = "1"

import lightgbm
import numpy as np

from bert_judge.judges.bert.stacker import BOOSTING_ROUNDS, PARAMETERS
from bert_judge.judges.bert.trees import Trees
from bert_judge.text.features import FEATURE_NAMES

ROWS = 8192


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    table = random.integers(0, 50, (ROWS, len(FEATURE_NAMES))) / 10
    labels = (table[:, :8].sum(axis=1) + random.normal(0, 5, ROWS) > 20).astype(float)
    booster = lightgbm.train({**PARAMETERS}, lightgbm.Dataset(table, labels), BOOSTING_ROUNDS)
    trees = Trees.from_text(booster.model_to_string())
    print("| rows together | numpy, µs a row | LightGBM, µs a row |\n|---|---|---|")
    for count in (1, 8, 64, ROWS):
        batches = [table[start : start + count] for start in range(0, min(ROWS, 256 * count), count)]
        seconds = [np.inf, np.inf]
        for _ in range(options.rounds):
            for way, predict in enumerate((trees.predict, lambda batch: booster.predict(batch, raw_score=True, num_threads=1))):
                started = time.perf_counter()
                predictions = [predict(batch) for batch in batches]
                seconds[way] = min(seconds[way], time.perf_counter() - started)
                if way == 0:
                    ours = predictions
        np.testing.assert_array_equal(np.concatenate(ours), np.concatenate(predictions))
        numpy_time, lightgbm_time = (1e6 * value / sum(map(len, batches)) for value in seconds)
        print(f"| {count:,} | {numpy_time:.1f} | {lightgbm_time:.1f} |", flush=True)


if __name__ == "__main__":
    main()
