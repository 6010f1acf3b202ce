"""Choose backend and precision for a machine and an encoder."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import torch

from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError, pip_install

TORCH, OPENVINO = "torch", "openvino"
PRECISIONS = ("float32", "bfloat16", "int8")
# Converting a smaller encoder takes longer than judging with it.
MIN_PARAMETERS = 5_000_000


@dataclass(frozen=True)
class BackendChoice:
    """Backend and precision, neither of them `auto`, and the reason for the log."""

    backend: str
    precision: str
    reason: str


def choose_backend(backend: str, precision: str, device: torch.device, parameters: int) -> BackendChoice:
    """Resolve `auto`. OpenVINO is the fastest on a CPU, and accurate in int8 (measured: docs/log.md).

    Raises:
        InputError: an unknown name, a backend that is not installed, or a precision that it does not support.
    """
    torch_precision = str(hardware.best_dtype(device)).removeprefix("torch.")
    _check(backend, precision, torch_precision)
    fastest = torch_precision if torch_precision == "bfloat16" else "int8" if hardware.supports_int8() else "float32"
    if backend == OPENVINO or precision == "int8":
        return BackendChoice(OPENVINO, fastest if precision == "auto" else precision, "as configured")
    if backend == TORCH or precision != "auto":
        return BackendChoice(TORCH, torch_precision if precision == "auto" else precision, "as configured")
    if device.type != "cpu":
        return BackendChoice(TORCH, torch_precision, f"the fastest precision of this {device.type.upper()}")
    if fastest == "float32":
        return BackendChoice(TORCH, torch_precision, "this CPU is fast in float32 only")
    if parameters < MIN_PARAMETERS:
        return BackendChoice(TORCH, torch_precision, "the encoder is too small to be worth a conversion")
    if not has_openvino():
        return BackendChoice(TORCH, torch_precision, f"{OPENVINO} in {fastest} would be faster: {pip_install(OPENVINO)}")
    return BackendChoice(OPENVINO, fastest, "the fastest precision of this CPU; close verdicts are rechecked in float32")


def has_openvino() -> bool:
    """Return whether OpenVINO is installed, without importing it."""
    return importlib.util.find_spec(OPENVINO) is not None


def _check(backend: str, precision: str, torch_precision: str) -> None:
    for key, value, values in (("backend", backend, (TORCH, OPENVINO)), ("precision", precision, PRECISIONS)):
        if value not in ("auto", *values):
            raise InputError(f"{key}: unknown value {value!r}; choose one of {', '.join(('auto', *values))}")
    if backend == TORCH and precision == "int8":
        raise InputError(f"precision: {TORCH} does not support int8; choose the backend {OPENVINO}")
    if (backend == OPENVINO or precision == "int8") and not has_openvino():
        raise InputError(f"backend: {OPENVINO} is not installed; {pip_install(OPENVINO)}, or choose {TORCH}")
    if (backend, precision) == (OPENVINO, "bfloat16") and torch_precision != precision:
        raise InputError("precision: this CPU does not compute in bfloat16; choose int8, float32 or auto")
