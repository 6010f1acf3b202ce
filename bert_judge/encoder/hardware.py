"""What the machine computes with, and in which number format it does so fast."""

from __future__ import annotations

import time

import torch


def best_device() -> torch.device:
    """CUDA, Apple's GPU or the CPU, whichever is there first."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware computes in it, else float32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    capable = torch.cpu.get_capabilities()
    return torch.bfloat16 if capable.get("avx512_bf16") or capable.get("amx_bf16") else torch.float32


def has_int8() -> bool:
    """Whether the CPU sums products of 8-bit integers in one instruction: four times the products of float32."""
    capable = torch.cpu.get_capabilities()
    return any(capable.get(name) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))


def matmul_rate(device: torch.device, dtype: torch.dtype, times: int = 3) -> float:
    """The floating-point operations per second of a matrix product of an encoder's shape and nothing else: a ceiling."""
    rows, width, inner = 2048, 768, 3072
    a, b = (torch.ones(shape, device=device, dtype=dtype) for shape in ((rows, width), (width, inner)))
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        # Reading one number waits for a device that works on its own.
        (a @ b)[0, 0].item()
        best = min(best, time.perf_counter() - started)
    return 2 * rows * width * inner / best
