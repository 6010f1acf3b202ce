"""Backends, the programs that run an encoder: their interface, padded batches of rows, and the choice among them.

OpenVINO is in `openvino.py`, PyTorch in `torch_model.py`.
"""

import importlib.util
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from bert_judge.encoder.encoding import EncodedRow
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError, pip_install

TORCH, OPENVINO = "torch", "openvino"
# Largest error of a logit against float32 (measured: docs/log.md).
LOGIT_ERRORS = {"float32": 0.0, "bfloat16": 0.07, "int8": 0.25}
PRECISIONS = tuple(LOGIT_ERRORS)
# Rounding saves a smaller encoder no time, and converting one takes longer than judging with it.
MIN_PARAMETERS = 5_000_000
# Tokens: the vectors and tiles of a CPU are full, so that rounding does not depend on how far beyond a row is padded.
LENGTH_MULTIPLE = 16
RECHECKED = "the fastest precision of this CPU; close verdicts are rechecked in float32"
Batch = dict[str, np.ndarray]
# Limited by the caches of a CPU, and by the number of kernel launches of a GPU.
CPU_BATCH_TOKENS, CUDA_BATCH_TOKENS = 2048, 65536
# With parallel batches, each thread gets about this many, so that none waits long for the last one; but none is smaller.
BATCHES_PER_THREAD, MIN_BATCH_TOKENS = 8, 512
INPUT_NAMES = ("input_ids", "attention_mask", "token_type_ids")


class Backend(Protocol):
    """Runs batches of encoded rows.

    Attributes:
        name: program, device and number format, for log lines.
        batch_tokens: default tokens per batch, padding included. 0: every row alone.
        parallel_batches: number of batches that run at the same time, each in its own thread.
        length_multiple: rows are padded to a multiple of this many tokens.
        logit_error: bound that the rounding error of a logit, against float32, rarely exceeds; 0 if negligible.
    """

    name: str
    batch_tokens: int
    parallel_batches: int
    length_multiple: int
    logit_error: float

    def run(self, batch: Batch) -> np.ndarray:
        """Return logits of shape (rows, 2) for arrays `INPUT_NAMES` of shape (rows, tokens), int64."""
        ...


def pad_rows(rows: Sequence[EncodedRow], pad_id: int, length_multiple: int = 1) -> Batch:
    """Pad on the right, with mask 0, to arrays of shape (rows, longest row up to a multiple of `length_multiple`)."""
    shape = (len(rows), round_up(max(len(row.ids) for row in rows), length_multiple))
    ids, mask, types = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for i, row in enumerate(rows):
        length = len(row.ids)
        ids[i, :length], types[i, :length], mask[i, :length] = row.ids, row.types, 1
    return dict(zip(INPUT_NAMES, (ids, mask, types), strict=True))


def round_up(length: int, multiple: int) -> int:
    """Return the smallest multiple that is not less than a length."""
    return math.ceil(length / multiple) * multiple


def select_length_multiple(window: int) -> int:
    """Return `LENGTH_MULTIPLE`, or a divisor of it if padding could exceed the longest input of a model."""
    return math.gcd(window, LENGTH_MULTIPLE)


def compute_logits(backend: Backend, rows: Sequence[EncodedRow], pad_id: int, batch_tokens: int | None = None) -> np.ndarray:
    """Return logit₁ − logit₀ per row, float64, shape (n,).

    A row is padded by its own length, whatever the other rows, because the padding changes the rounding of its logit. On a CPU
    nothing else does in bfloat16 and int8 (measured: docs/log.md).

    `batch_tokens`: padding included; by default the backend's, which may run every row alone.
    """
    # Longest first, so that an out-of-memory error comes at once.
    unique = sorted(set(rows), key=lambda row: (-len(row.ids), row.ids, row.types))
    lengths = [round_up(len(row.ids), backend.length_multiple) for row in unique]
    limit = backend.batch_tokens and (batch_tokens or backend.batch_tokens)
    if not batch_tokens and backend.parallel_batches > 1:
        share = sum(lengths) // (BATCHES_PER_THREAD * backend.parallel_batches)
        limit = min(limit, max(MIN_BATCH_TOKENS, share))
    logits = np.zeros(len(unique))

    def run(batch: slice) -> None:
        output = backend.run(pad_rows(unique[batch], pad_id, backend.length_multiple))
        logits[batch] = output[:, 1].astype(float) - output[:, 0]

    batches, start = [], 0
    for length, count in Counter(lengths).items():
        size = max(1, limit // length)
        batches += [slice(i, min(i + size, start + count)) for i in range(start, start + count, size)]
        start += count
    if backend.parallel_batches == 1:
        for batch in batches:
            run(batch)
    else:
        with ThreadPoolExecutor(backend.parallel_batches) as pool:
            list(pool.map(run, batches))
    logit_of = dict(zip(unique, logits.tolist(), strict=True))
    return np.array([logit_of[row] for row in rows], dtype=float)


def batch_by_tokens(lengths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Yield positions of rows, longest first, in batches of at most `limit` tokens, padding included.

    A row longer than the limit is a batch of its own. Longest first, so that an out-of-memory error comes at once.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > limit:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch


class BackendChoice(NamedTuple):
    """Backend and precision, neither of them `auto`, and the reason for the log."""

    backend: str
    precision: str
    reason: str


def choose_backend(
    backend: str, precision: str, device: str, parameters: int, *, needs_torch: bool = True, has_scales: bool = False
) -> BackendChoice:
    """Resolve `auto`. OpenVINO is the fastest on a CPU, in float32 too, and accurate in int8 (measured: docs/log.md).

    Args:
        device: from `hardware.best_device`.
        needs_torch: OpenVINO's graph of the encoder can only be converted from torch's model, which takes seconds.
        has_scales: of activations (`weights.INPUTS_FILE`): in int8 it is faster than in bfloat16 without AMX, and slower else.

    Raises:
        InputError: an unknown name, a backend that is not installed, or a precision that it does not support.
    """
    in_torch = hardware.best_dtype(device)
    _check(backend, precision, in_torch)
    prefers_int8 = in_torch != "bfloat16" or (has_scales and not hardware.supports_amx())
    fastest = "int8" if prefers_int8 and device == "cpu" and hardware.supports_int8() else in_torch
    if precision == "int8" and not hardware.supports_int8():
        return BackendChoice(OPENVINO, precision, "as configured; float32 is faster, because this CPU has no VNNI")
    if backend == OPENVINO or precision == "int8":
        return BackendChoice(OPENVINO, fastest if precision == "auto" else precision, "as configured")
    if backend == TORCH:
        return BackendChoice(TORCH, in_torch if precision == "auto" else precision, "as configured")
    if device != "cpu":
        reason = "as configured" if precision != "auto" else f"the fastest precision of this {device.upper()}"
        return BackendChoice(TORCH, in_torch if precision == "auto" else precision, reason)
    reason = "the fastest on this CPU" if fastest == "float32" else RECHECKED
    if not needs_torch and has_openvino():
        if precision != "auto":
            return BackendChoice(OPENVINO, precision, "as configured")
        if parameters < MIN_PARAMETERS:
            return BackendChoice(OPENVINO, "float32", "the encoder is too small to gain from rounding")
        return BackendChoice(OPENVINO, fastest, reason)
    if precision != "auto":
        return BackendChoice(TORCH, precision, "as configured")
    if parameters < MIN_PARAMETERS:
        return BackendChoice(TORCH, in_torch, "the encoder is too small to be worth a conversion")
    if not has_openvino():
        return BackendChoice(TORCH, in_torch, f"{OPENVINO} in {fastest} would be faster: {pip_install(OPENVINO)}")
    return BackendChoice(OPENVINO, fastest, reason)


def has_openvino() -> bool:
    """Return whether OpenVINO is installed, without importing it."""
    return importlib.util.find_spec(OPENVINO) is not None


def _check(backend: str, precision: str, in_torch: str) -> None:
    for key, value, values in (("backend", backend, (TORCH, OPENVINO)), ("precision", precision, PRECISIONS)):
        if value not in ("auto", *values):
            raise InputError(f"{key}: unknown value {value!r}; choose one of {', '.join(('auto', *values))}")
    if backend == TORCH and precision == "int8":
        raise InputError(f"precision: {TORCH} does not support int8; choose the backend {OPENVINO}")
    if (backend == OPENVINO or precision == "int8") and not has_openvino():
        raise InputError(f"backend: {OPENVINO} is not installed; {pip_install(OPENVINO)}, or choose {TORCH}")
    if (backend, precision) == (OPENVINO, "bfloat16") and in_torch != precision:
        raise InputError("precision: this CPU does not compute in bfloat16; choose int8, float32 or auto")
