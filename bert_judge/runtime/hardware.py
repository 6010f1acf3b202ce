"""What the machine computes with, and in which number format it does so fast."""

from __future__ import annotations

import math
import time

import torch

# Rows, width and inner width of the products that `matmul_rate` times: an encoder's feed-forward layer, with rows enough to fill a
# GPU, and there also a square, which is the best case of its library.
CPU_PRODUCTS = ((2048, 768, 3072),)
CUDA_PRODUCTS = ((65536, 768, 3072), (8192, 8192, 8192))
# Seconds that one timing takes at least: long beside the wait for the device.
TIMING = 0.02


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


def has_tiles() -> bool:
    """Whether the CPU multiplies whole tiles of bfloat16 matrices in one instruction (AMX)."""
    return bool(torch.cpu.get_capabilities().get("amx_bf16"))


def matmul_rate(device: torch.device, dtype: torch.dtype, times: int = 3) -> float:
    """The floating-point operations per second of large matrix products and nothing else: a ceiling for an encoder.

    Of random numbers, because zeros and ones take less power and so run faster than real data; on CUDA the better of two shapes.

    Args:
        device: to compute on.
        dtype: of factors and product.
        times: timings of each shape, of which the best counts.
    """
    shapes = CUDA_PRODUCTS if device.type == "cuda" else CPU_PRODUCTS
    return max(_product_rate(device, dtype, shape, times) for shape in shapes)


def _product_rate(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int], times: int) -> float:
    rows, width, inner = shape
    # A generator of its own: a training run's random numbers do not depend on this measurement.
    chance = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(of, generator=chance, device=device, dtype=dtype) for of in ((rows, width), (width, inner)))
    product = torch.empty((rows, inner), device=device, dtype=dtype)

    def seconds(products: int) -> float:
        started = time.perf_counter()
        for _ in range(products):
            torch.mm(a, b, out=product)
        # Reading one number waits for a device that works on its own.
        product[0, 0].item()
        return (time.perf_counter() - started) / products

    seconds(1)  # starts the device's libraries
    products = math.ceil(TIMING / seconds(1))
    return 2 * rows * width * inner / min(seconds(products) for _ in range(times))
