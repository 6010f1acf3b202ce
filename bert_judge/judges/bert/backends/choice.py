"""Choose backend and precision for a machine and an encoder."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import torch

from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError, pip_install

# Backend → precisions; of two backends with the same precision, the first is chosen.
PRECISIONS = {"torch": ("float32", "bfloat16"), "openvino": ("float32", "bfloat16", "int8"), "onnx": ("float32", "int8")}
# Backend → packages that must be importable; the extra of the Python package has the backend's name.
PACKAGES = {"torch": ("torch",), "onnx": ("onnx", "onnxruntime"), "openvino": ("openvino",)}
# Fastest on a CPU and accurate in int8, so `auto` takes it (measured: docs/log.md).
FASTEST_BACKEND = "openvino"
# Converting a smaller encoder takes longer than judging with it.
MIN_PARAMETERS = 5_000_000


@dataclass(frozen=True)
class BackendChoice:
    """Backend and precision, neither of them `auto`, and the reason for the log."""

    backend: str
    precision: str
    reason: str


def choose_backend(backend: str, precision: str, device: torch.device, parameters: int) -> BackendChoice:
    """Resolve `auto`.

    Args:
        device: the best one of this machine.
        parameters: of the model.

    Raises:
        InputError: an unknown name, a backend that is not installed, or a precision that it does not support.
    """
    _check(backend, precision)
    torch_precision = str(hardware.best_dtype(device)).removeprefix("torch.")
    if (backend, precision) == ("openvino", "bfloat16") and torch_precision != precision:
        raise InputError("precision: this CPU does not compute in bfloat16; choose int8, float32 or auto")
    if backend == "torch":
        return BackendChoice(backend, torch_precision if precision == "auto" else precision, "as configured")
    if backend != "auto":
        fastest = _fastest_precision(backend, torch_precision)
        return BackendChoice(backend, fastest if precision == "auto" else precision, "as configured")
    if precision == "int8":
        return BackendChoice(next(name for name in PRECISIONS if _has_int8(name)), precision, "int8 as configured")
    if precision != "auto":
        return BackendChoice("torch", precision, f"{precision} as configured")
    if device.type != "cpu":
        return BackendChoice("torch", torch_precision, f"the fastest precision of this {device.type.upper()}")
    fastest = _fastest_precision(FASTEST_BACKEND, torch_precision)
    if fastest == "float32":
        return BackendChoice("torch", torch_precision, "this CPU is fast in float32 only")
    if parameters < MIN_PARAMETERS:
        return BackendChoice("torch", torch_precision, "the encoder is too small to be worth a conversion")
    if not is_installed(FASTEST_BACKEND):
        hint = f"{FASTEST_BACKEND} in {fastest} would be faster: {pip_install(FASTEST_BACKEND)}"
        return BackendChoice("torch", torch_precision, hint)
    return BackendChoice(FASTEST_BACKEND, fastest, "the fastest precision of this CPU; close verdicts are rechecked in float32")


def is_installed(backend: str) -> bool:
    """Return whether a backend's packages are installed, without importing them."""
    return all(importlib.util.find_spec(package) is not None for package in PACKAGES[backend])


def _fastest_precision(backend: str, torch_precision: str) -> str:
    """Return the fastest precision of a backend other than torch that changes no verdict, on this CPU."""
    if torch_precision == "bfloat16" and torch_precision in PRECISIONS[backend]:
        return torch_precision
    return "int8" if hardware.supports_int8() else "float32"


def _has_int8(backend: str) -> bool:
    return "int8" in PRECISIONS[backend] and is_installed(backend)


def _check(backend: str, precision: str) -> None:
    if backend not in (backends := ("auto", *PRECISIONS)):
        raise InputError(f"backend: unknown value {backend!r}; choose one of {', '.join(backends)}")
    if precision not in (precisions := ("auto", "float32", "bfloat16", "int8")):
        raise InputError(f"precision: unknown value {precision!r}; choose one of {', '.join(precisions)}")
    if backend == "auto":
        if precision == "int8" and not any(map(_has_int8, PRECISIONS)):
            raise InputError(f"precision: int8 needs another backend; {pip_install(FASTEST_BACKEND)}")
        return
    if not is_installed(backend):
        raise InputError(f"backend: {backend} is not installed; {pip_install(backend)}, or choose torch")
    if precision != "auto" and precision not in PRECISIONS[backend]:
        supporting = ", ".join(name for name, supported in PRECISIONS.items() if precision in supported)
        raise InputError(f"precision: {backend} does not support {precision}; choose one of the backends {supporting}")
