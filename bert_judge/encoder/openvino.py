"""OpenVINO on a CPU, in float32, in bfloat16 if the CPU supports it, or with 8-bit weights and activations.

In int8 the weights are integers with one scale per output channel. At run time the CPU plugin computes one scale for every few
hundred activations of a token (dynamic quantisation:
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). These scales do not depend on other
rows, but another padding changes the order of summation, which rounds some values to the next integer and adds up to 0.06 in a
logit (`backend.LENGTH_MULTIPLE`). In int8 every row runs alone, one row per thread.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import openvino

from bert_judge.encoder.backend import LOGIT_ERRORS, Batch, select_length_multiple
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.graph import build_graph
from bert_judge.runtime import hardware

# Each batch runs in its own thread, so batches are smaller than torch's, less so with AMX (measured: docs/log.md).
BATCH_TOKENS, AMX_BATCH_TOKENS = 512, 1024
PRECISION_HINTS = {"float32": "f32", "bfloat16": "bf16", "int8": "f32"}


class OpenvinoBackend:
    """See `backend.Backend`. In int8, `group_size` activations share a scale; 0: activations are not quantised.

    `window`: maximum input of the encoder in tokens.
    """

    def __init__(self, graph: openvino.Model, window: int, precision: str, group_size: int = 0) -> None:
        threads = hardware.num_threads()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": PRECISION_HINTS[precision],
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group_size,
        }
        self.compiled = openvino.Core().compile_model(graph, "CPU", settings)
        self.names = [port.get_any_name() for port in graph.inputs]
        self.parallel_batches = threads
        amx = precision == "bfloat16" and hardware.supports_amx()
        self.batch_tokens = 0 if group_size else AMX_BATCH_TOKENS if amx else BATCH_TOKENS
        self.length_multiple = select_length_multiple(window)
        self.logit_error = LOGIT_ERRORS[precision]
        self.name = f"openvino, cpu, {precision}"
        self._thread = threading.local()

    def run(self, batch: Batch) -> np.ndarray:
        if not hasattr(self._thread, "request"):
            self._thread.request = self.compiled.create_infer_request()
        result = self._thread.request.infer({name: batch[name] for name in self.names})
        return np.array(result[0])


def compile_encoder(checkpoint: Checkpoint, precision: str) -> OpenvinoBackend:
    """Compile the encoder of a checkpoint, which is not changed. Raises InputError: this kind of model cannot be converted."""
    if checkpoint.weights is None:
        # It needs torch.
        from bert_judge.encoder.conversion import convert

        return convert(checkpoint.model, precision)
    graph = build_graph(checkpoint.weights, precision == "int8")
    outputs, inputs = checkpoint.weights.layers[0].output.weight.values.shape
    return OpenvinoBackend(graph, checkpoint.window, precision, quantization_group(outputs, inputs, precision))


def quantization_group(hidden_size: int, intermediate_size: int, precision: str) -> int:
    """Return the activations that share a scale: more are faster, and must divide the length of every row of weights."""
    return math.gcd(hidden_size, intermediate_size) if precision == "int8" else 0
