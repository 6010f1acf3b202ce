"""The compute device and its fast number formats."""

import torch


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
