"""The compute device, its fast number formats and its peak rate."""

from __future__ import annotations

import math
import time

import torch

# Shapes (rows, width, inner width) that `matmul_rate` times: an encoder's feed-forward layer, with enough rows to fill a GPU; on
# CUDA also a square product, the best case of its library.
CPU_PRODUCTS = ((2048, 768, 3072),)
CUDA_PRODUCTS = ((65536, 768, 3072), (8192, 8192, 8192))
# Minimum duration of a measurement in seconds, long compared with synchronisation.
MIN_MEASURED_SECONDS = 0.02


def best_device() -> torch.device:
    """Return CUDA, MPS or the CPU, whichever is available first."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def best_dtype(device: torch.device) -> torch.dtype:
    """Return bfloat16 if the hardware computes in it, else float32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    capabilities = torch.cpu.get_capabilities()
    return torch.bfloat16 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else torch.float32


def supports_int8() -> bool:
    """Return whether the CPU has 8-bit dot-product instructions (four times the float32 rate)."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))


def supports_amx() -> bool:
    """Return whether the CPU has bfloat16 matrix instructions (AMX)."""
    return bool(torch.cpu.get_capabilities().get("amx_bf16"))


def matmul_rate(device: torch.device, dtype: torch.dtype, times: int = 3) -> float:
    """Measure the floating-point operations per second of large matrix products, an upper bound for an encoder.

    The factors are random: zeros and ones draw less power and so run faster than real data. On CUDA the
    better of two shapes counts.

    Args:
        times: measurements per shape, of which the best counts.
    """
    shapes = CUDA_PRODUCTS if device.type == "cuda" else CPU_PRODUCTS
    return max(_product_rate(device, dtype, shape, times) for shape in shapes)


def _product_rate(device: torch.device, dtype: torch.dtype, shape: tuple[int, int, int], times: int) -> float:
    rows, width, inner = shape
    # A separate generator, so that this measurement does not change the random numbers of a training run.
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(size, generator=generator, device=device, dtype=dtype) for size in ((rows, width), (width, inner)))
    product = torch.empty((rows, inner), device=device, dtype=dtype)

    def seconds(products: int) -> float:
        started = time.perf_counter()
        for _ in range(products):
            torch.mm(a, b, out=product)
        # Reading a number waits for asynchronous devices.
        product[0, 0].item()
        return (time.perf_counter() - started) / products

    seconds(1)  # warm-up
    products = math.ceil(MIN_MEASURED_SECONDS / seconds(1))
    return 2 * rows * width * inner / min(seconds(products) for _ in range(times))
