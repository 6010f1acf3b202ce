"""Which program runs the encoder, in which number format, and why."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Literal

import torch

from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

BackendName = Literal["auto", "torch", "onnx", "openvino"]
Precision = Literal["auto", "float32", "bfloat16", "int8"]

# What each can compute in; of two that can do the same, the first is taken.
FORMATS = {"torch": ("float32", "bfloat16"), "openvino": ("float32", "bfloat16", "int8"), "onnx": ("float32", "int8")}
# What must be importable; the extra of the Python package has the back end's name.
PACKAGES = {"torch": ("torch",), "onnx": ("onnx", "onnxruntime"), "openvino": ("openvino",)}
# The one that is so fast on a CPU, and so near in int8, that nobody has to ask for it (measured: docs/log.md).
FASTEST_BACKEND = "openvino"
# A smaller encoder is judged through before it is converted.
LEAST_PARAMETERS = 5_000_000


@dataclass(frozen=True)
class BackendChoice:
    """Attributes: backend and precision without `auto`, and the reason in words."""

    backend: str
    precision: str
    reason: str


def choose_backend(backend: str, precision: str, device: torch.device, parameters: int) -> BackendChoice:
    """Settle what is left to `auto`.

    Args:
        device: the best one of this machine.
        parameters: of the model.

    Raises:
        InputError: an unknown name, a back end that is not installed, or a format that it does not have.
    """
    _check(backend, precision)
    fast = str(hardware.best_dtype(device)).removeprefix("torch.")
    if (backend, precision) == ("openvino", "bfloat16") and fast != precision:
        raise InputError("precision: this CPU does not compute in bfloat16; choose int8, float32 or auto")
    if backend == "torch":
        return BackendChoice(backend, fast if precision == "auto" else precision, "as asked")
    if backend != "auto":
        return BackendChoice(backend, _best_of(backend, fast) if precision == "auto" else precision, "as asked")
    if precision == "int8":
        return BackendChoice(next(name for name in FORMATS if _has_int8(name)), precision, "int8 as asked")
    if precision != "auto":
        return BackendChoice("torch", precision, f"{precision} as asked")
    if device.type != "cpu":
        return BackendChoice("torch", fast, f"the fastest format of this {device.type.upper()}")
    best = _best_of(FASTEST_BACKEND, fast)
    if best == "float32":
        return BackendChoice("torch", fast, "this CPU is fast in no smaller format")
    if parameters < LEAST_PARAMETERS:
        return BackendChoice("torch", fast, "the encoder is too small to be worth a conversion")
    if not is_installed(FASTEST_BACKEND):
        return BackendChoice(
            "torch", fast, f"{FASTEST_BACKEND} would be faster in {best}: pip install 'bert-judge[{FASTEST_BACKEND}]'"
        )
    return BackendChoice(FASTEST_BACKEND, best, "the fastest format of this CPU; verdicts that hang on it are checked in float32")


def is_installed(backend: str) -> bool:
    """Whether a back end's packages are there, without importing them."""
    return all(importlib.util.find_spec(package) is not None for package in PACKAGES[backend])


def _best_of(backend: str, fast: str) -> str:
    """The fastest format of a back end other than torch that no verdict suffers from, on this CPU.

    Args:
        fast: the fastest format of torch here.
    """
    if fast == "bfloat16" and fast in FORMATS[backend]:
        return fast
    return "int8" if hardware.supports_int8() else "float32"


def _has_int8(backend: str) -> bool:
    return "int8" in FORMATS[backend] and is_installed(backend)


def _check(backend: str, precision: str) -> None:
    if backend not in (known := ("auto", *FORMATS)):
        raise InputError(f"backend: {backend!r} is none; choose one of {', '.join(known)}")
    if precision not in (formats := ("auto", "float32", "bfloat16", "int8")):
        raise InputError(f"precision: {precision!r} is none; choose one of {', '.join(formats)}")
    if backend == "auto":
        if precision == "int8" and not any(map(_has_int8, FORMATS)):
            raise InputError(f"precision: int8 needs another back end; pip install 'bert-judge[{FASTEST_BACKEND}]'")
        return
    if not is_installed(backend):
        raise InputError(f"backend: {backend} is not installed; pip install 'bert-judge[{backend}]', or choose torch")
    if precision != "auto" and precision not in FORMATS[backend]:
        able = ", ".join(name for name, formats in FORMATS.items() if precision in formats)
        raise InputError(f"precision: {backend} has no {precision}; {able} has")
