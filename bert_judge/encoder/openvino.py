"""The encoder (`weights.py`) on a CPU, as a graph of OpenVINO's operations that computes what transformers computes.

It runs in float32, in bfloat16 if the CPU supports it, or with 8-bit weights and activations. In int8 the weights are integers with
one scale per output channel. At run time the CPU plugin computes one scale for every few hundred activations of a token (dynamic
quantisation:
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). These scales do not depend on other
rows, but another padding changes the order of summation, which rounds some values to the next integer and adds up to 0.06 in a
logit (`backend.LENGTH_MULTIPLE`). In int8 every row runs alone, one row per thread.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import openvino
from openvino import Node
from openvino import opset13 as ops

from bert_judge.encoder.backend import INPUT_NAMES, LOGIT_ERRORS, Batch, select_length_multiple
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.weights import EncoderWeights, Linear, Matrix, Norm
from bert_judge.runtime import hardware


def build_graph(weights: EncoderWeights, int8: bool) -> openvino.Model:
    """Return a graph from `INPUT_NAMES`, shape (rows, tokens), to logits, shape (rows, 2); `int8`: matrices as 8-bit integers."""
    return _Builder(weights, int8).build()


class _Builder:
    def __init__(self, weights: EncoderWeights, int8: bool) -> None:
        self.weights, self.int8 = weights, int8
        width = len(weights.embedding_norm.bias)
        self.head_shape = ops.constant(np.array([0, 0, weights.heads, width // weights.heads], np.int64))
        self.row_shape = ops.constant(np.array([0, 0, width], np.int64))
        self.swap = ops.constant(np.array([0, 2, 1, 3], np.int64))

    def build(self) -> openvino.Model:
        weights = self.weights
        # An encoder with one segment reads none.
        names = INPUT_NAMES if len(weights.segments.values) > 1 else INPUT_NAMES[:2]
        inputs = [ops.parameter([-1, -1], np.int64, name=name) for name in names]
        for node, name in zip(inputs, names, strict=True):
            node.output(0).get_tensor().set_names({name})
        ids, mask, segments = inputs if len(inputs) > 2 else (*inputs, _integer(0))
        # Padding is on the right, so the positions are the same in all rows.
        tokens = ops.gather(ops.shape_of(ids), _integer(1), _integer(0))
        first = weights.first_position
        positions = ops.range(_integer(first), ops.add(tokens, _integer(first)), _integer(1), "i64")
        states = ops.add(self._embed(weights.words, ids), self._embed(weights.segments, segments))
        states = self._norm(ops.add(states, self._embed(weights.positions, positions)), weights.embedding_norm)
        is_token = ops.unsqueeze(ops.convert(mask, "boolean"), ops.constant(np.array([1, 2], np.int64)))
        for layer in weights.layers:
            query, key, value = (self._split_heads(self._linear(states, part)) for part in (layer.query, layer.key, layer.value))
            attention = ops.transpose(ops.scaled_dot_product_attention(query, key, value, is_token), self.swap)
            merged = self._linear(ops.reshape(attention, self.row_shape, True), layer.attention_output)
            states = self._norm(ops.add(merged, states), layer.attention_norm)
            inner = ops.gelu(self._linear(states, layer.intermediate), "erf")
            states = self._norm(ops.add(self._linear(inner, layer.output), states), layer.output_norm)
        first_states = ops.gather(states, _integer(0), _integer(1))
        logits = self._linear(ops.tanh(self._linear(first_states, weights.dense)), weights.classifier)
        return openvino.Model([logits], inputs, "encoder")

    def _embed(self, matrix: Matrix, ids: Node) -> Node:
        rows = ops.gather(ops.constant(matrix.values, shared_memory=True), ids, _integer(0))
        if matrix.scale is None:
            return rows
        return ops.multiply(ops.convert(rows, "f32"), ops.gather(ops.constant(matrix.scale), ids, _integer(0)))

    def _linear(self, states: Node, layer: Linear) -> Node:
        if self.int8:
            integers, scale = layer.weight.quantize()
            weight = ops.multiply(ops.convert(ops.constant(integers), "f32"), ops.constant(scale))
        else:
            weight = ops.constant(layer.weight.dequantize())
        return ops.add(ops.matmul(states, weight, False, True), ops.constant(layer.bias))

    def _norm(self, states: Node, norm: Norm) -> Node:
        normal = ops.mvn(states, ops.constant(np.array([-1], np.int64)), True, self.weights.epsilon, "INSIDE_SQRT")
        return ops.add(ops.multiply(normal, ops.constant(norm.weight)), ops.constant(norm.bias))

    def _split_heads(self, states: Node) -> Node:
        return ops.transpose(ops.reshape(states, self.head_shape, True), self.swap)


def _integer(value: int) -> Node:
    return ops.constant(np.int64(value))


# --- inference ---

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
