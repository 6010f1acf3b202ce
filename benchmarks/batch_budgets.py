"""Best number of tokens per batch on this machine, for a small and for a large encoder.

    BERT_JUDGE_DATA=… python benchmarks/batch_budgets.py --judge results/judges/bert [--rows 1500] [--large-rows 240] [--rounds 3]

Needs the extra `bench`. Behind the default batch sizes (`budget` in `bert_judge.encoder.backend`). Prints tokens per second,
without padding, of encoded rows of mixed lengths with the automatic backend and precision: for a judge's encoder, and for one of
EuroBERT-210m's shape with random weights. Batch sizes are interleaved; the best round of each counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import peers
import timing
from transformers import PreTrainedModel

from bert_judge.encoder import checkpoint, inference
from bert_judge.encoder.backend import choose_backend
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.runtime.hardware import best_device

CPU_BUDGETS, CUDA_BUDGETS = (256, 512, 1024, 1536, 2048, 4096), (8192, 16384, 32768, 65536, 131072)


def rates(name: str, model: PreTrainedModel, rows: Sequence[EncodedRow], budgets: Sequence[int], rounds: int) -> list[str]:
    """A line of the table: thousands of tokens a second with each budget."""
    backend = peers.backend_of(choose_backend("auto", "auto", best_device(), model.num_parameters()), model)
    ways = {f"{name}, {budget} tokens": partial(inference.compute_logits, backend, rows, 0, budget) for budget in budgets}
    times, _ = timing.alternate(ways, rounds)
    tokens = sum(len(row.ids) for row in rows)
    return [f"{name} ({backend.name})", *(f"{tokens / time.wall / 1000:.2f}" for time in times.values())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, required=True, help="folder of a trained judge")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--large-rows", type=int, default=240, help="rows of the large encoder")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    judge, texts = checkpoint.load(options.judge), timing.mixed(options.rows)
    rows = judge.encoder.encode(texts.questions, texts.candidates, texts.references)
    shape, others = peers.eurobert([len(row.ids) for row in rows[: options.large_rows]])
    budgets = CUDA_BUDGETS if best_device() == "cuda" else CPU_BUDGETS
    print(f"{timing.machine()}\n{len(rows)} and {len(others)} rows, thousands of tokens a second\n", flush=True)
    judge.model.to(best_device())  # type: ignore[arg-type]
    lines = [
        rates("the judge's encoder", judge.model, rows, budgets, options.rounds),
        rates("EuroBERT-210m's shape", shape, others, budgets, options.rounds),
    ]
    print(timing.table(("tokens a batch", *map(str, budgets)), lines))


if __name__ == "__main__":
    main()
