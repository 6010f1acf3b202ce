"""Time of a forward and backward pass of attention on a CPU, in bfloat16 and in float32.

    python benchmarks/attention_learning.py [--rows 16] [--heads 12] [--width 32] [--rounds 5]

Behind the choice in `bert_judge.encoder.trainer`. Random numbers without padding; inputs and gradients are bfloat16, so
float32 attention pays for its conversions. Variants are interleaved; the best round of each counts.

Set `ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16` to keep a CPU with AMX from using it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import timing
import torch
from torch.nn.functional import scaled_dot_product_attention

FORMATS = (torch.bfloat16, torch.float32)
LENGTHS = (32, 64, 128, 256)
# Tokens of each row in a round.
TOKENS = 4_096


def forth_and_back(inputs: list[torch.Tensor], dtype: torch.dtype, times: int) -> None:
    for _ in range(times):
        attended = scaled_dot_product_attention(*(tensor.to(dtype) for tensor in inputs))
        attended.to(inputs[0].dtype).backward(torch.ones_like(inputs[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=16, help="of a batch")
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=32, help="of a head")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{timing.machine()}\n{options.rows} rows, {options.heads} heads of {options.width}\n", flush=True)
    chance = torch.Generator().manual_seed(0)
    lines = []
    for length in LENGTHS:
        shape = (options.rows, options.heads, length, options.width)
        inputs = [torch.randn(shape, generator=chance).bfloat16().requires_grad_() for _ in range(3)]
        times = max(1, TOKENS // length)
        ways: dict[str, Callable[[], object]] = {str(dtype): partial(forth_and_back, inputs, dtype, times) for dtype in FORMATS}
        took, _ = timing.alternate(ways, options.rounds)
        half, full = (1000 * took[str(dtype)].wall / times for dtype in FORMATS)
        lines.append([length, f"{half:.2f}", f"{full:.2f}", f"{half / full:.1f}×"])
    print(timing.table(("tokens a row", "bfloat16, ms", "float32, ms", "float32 is faster"), lines))


if __name__ == "__main__":
    main()
