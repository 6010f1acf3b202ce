"""The encoder (`weights.py`) on a CPU, as a graph of OpenVINO's operations that computes what transformers computes.

It runs in float32, in bfloat16 if the CPU supports it, or with 8-bit weights and activations. In int8 the weights are integers with
one scale per output channel. CPUs without VNNI multiply the same integers in float32.

* Static: `write_input_scales` measured the range of every activation once, on training rows. Only products are computed in
  integers, everything else in bfloat16 or float32.
* Dynamic, without such a file: at run time the CPU plugin computes one scale for every few hundred activations of a token
  (https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). These scales do not depend on other
  rows, but another padding changes the order of summation, which rounds some values to the next integer and adds up to 0.06 in a
  logit (`backend.LENGTH_MULTIPLE`). Every row runs alone, one row per thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import openvino
from openvino import Node
from openvino import opset13 as ops
from safetensors.numpy import save_file

from bert_judge.encoder.backend import INPUT_NAMES, LOGIT_ERRORS, Batch, compute_logits, pad_rows, select_length_multiple
from bert_judge.encoder.checkpoint import load
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.judge_folder import CHECKSUMS, write_checksums
from bert_judge.encoder.weights import (
    INPUTS_FILE,
    LOGIT_ERROR,
    MAX_INTEGER,
    EncoderWeights,
    Floats,
    Linear,
    Matrix,
    Norm,
    input_name,
)
from bert_judge.runtime import hardware
from bert_judge.runtime.outputs import atomic


def build_graph(weights: EncoderWeights, int8: bool) -> openvino.Model:
    """Return a graph from `INPUT_NAMES`, shape (rows, tokens), to logits, shape (rows, 2); `int8`: matrices as 8-bit integers."""
    return _Builder(weights, int8).build()


class _Builder:
    def __init__(self, weights: EncoderWeights, int8: bool) -> None:
        self.weights = weights
        self.scales = weights.input_scales if int8 else {}
        self.is_dynamic = int8 and not self.scales
        # By name (`input_name`).
        self.inputs: dict[str, Node] = {}
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
        for i, layer in enumerate(weights.layers):
            query, key, value = map(self._split_heads, self._project(states, i, "query", "key", "value"))
            attention = ops.transpose(ops.scaled_dot_product_attention(query, key, value, is_token), self.swap)
            [merged] = self._project(ops.reshape(attention, self.row_shape, True), i, "attention_output")
            states = self._norm(ops.add(merged, states), layer.attention_norm)
            [inner] = self._project(states, i, "intermediate")
            [output] = self._project(ops.gelu(inner, "erf"), i, "output")
            states = self._norm(ops.add(output, states), layer.output_norm)
        first_states = ops.gather(states, _integer(0), _integer(1))
        logits = self._linear(ops.tanh(self._linear(first_states, weights.dense)), weights.classifier)
        return openvino.Model([logits], inputs, "encoder")

    def _embed(self, matrix: Matrix, ids: Node) -> Node:
        rows = ops.gather(ops.constant(matrix.values, shared_memory=True), ids, _integer(0))
        if matrix.scale is None:
            return rows
        return ops.multiply(ops.convert(rows, "f32"), ops.gather(ops.constant(matrix.scale), ids, _integer(0)))

    def _project(self, states: Node, layer: int, *projections: str) -> list[Node]:
        """Apply the parts of a layer that read the same states, rounded to multiples of 1/127 of their channel's scale."""
        name = input_name(layer, projections[0])
        self.inputs[name] = states
        scale = self.scales.get(name)
        if scale is not None:
            limits = [ops.constant(np.float32(limit)) for limit in (-(MAX_INTEGER + 1) / MAX_INTEGER, 1.0)]
            states = ops.fake_quantize(ops.multiply(states, ops.constant(1 / scale)), *limits, *limits, 2 * MAX_INTEGER + 2)
        return [self._linear(states, getattr(self.weights.layers[layer], projection), scale) for projection in projections]

    def _linear(self, states: Node, layer: Linear, input_scale: Floats | None = None) -> Node:
        if self.is_dynamic or input_scale is not None:
            matrix = layer.weight if input_scale is None else Matrix(layer.weight.dequantize() * input_scale, None)
            integers, scale = matrix.quantize()
            # OpenVINO 2026.4 adds pairs of 8-bit products in 16 bits (vpmaddubsw) where a CPU lacks VNNI. They overflow, by up to
            # 0.9 in a logit, so the same integers are multiplied in float32 there.
            if hardware.supports_int8():
                weight = ops.multiply(ops.convert(ops.constant(integers), "f32"), ops.constant(scale))
            else:
                weight = ops.constant(integers * scale)
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
BATCH_TOKENS, AMX_BATCH_TOKENS, INT8_BATCH_TOKENS = 512, 1024, 2048
HINTS = {"float32": "f32", "bfloat16": "bf16"}


class OpenvinoBackend:
    """See `backend.Backend`.

    Args:
        window: maximum input of the encoder in tokens.
        group_size: in dynamic int8, the activations that share a scale; 0: scales are part of the graph.
    """

    def __init__(self, graph: openvino.Model, window: int, precision: str, group_size: int = 0) -> None:
        is_static = precision == "int8" and not group_size
        threads = hardware.num_threads()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": HINTS.get(hardware.best_dtype("cpu") if is_static else precision, "f32"),
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group_size,
        }
        self.compiled = openvino.Core().compile_model(graph, "CPU", settings)
        self.names = [port.get_any_name() for port in graph.inputs]
        self.parallel_batches = threads
        amx = precision == "bfloat16" and hardware.supports_amx()
        tokens = AMX_BATCH_TOKENS if amx else INT8_BATCH_TOKENS if is_static else BATCH_TOKENS
        self.batch_tokens = 0 if group_size else tokens
        self.length_multiple = select_length_multiple(window)
        self.logit_error = LOGIT_ERRORS[precision]
        self.name = f"openvino, cpu, {precision}"
        self._thread = threading.local()

    def run(self, batch: Batch) -> np.ndarray:
        if not hasattr(self._thread, "request"):
            self._thread.request = self.compiled.create_infer_request()
        result = self._thread.request.infer({name: batch[name] for name in self.names})
        return np.array(result[0])


def compile_encoder(weights: EncoderWeights, precision: str) -> OpenvinoBackend:
    """Compile the graph of an encoder, which is not changed."""
    graph = build_graph(weights, precision == "int8")
    is_static = precision == "int8" and weights.input_scales
    outputs, inputs = weights.layers[0].output.weight.values.shape
    group_size = 0 if is_static else quantization_group(outputs, inputs, precision)
    backend = OpenvinoBackend(graph, weights.window, precision, group_size)
    if is_static:
        backend.logit_error = weights.logit_error
    return backend


def quantization_group(hidden_size: int, intermediate_size: int, precision: str) -> int:
    """Return the activations that share a scale: more are faster, and must divide the length of every row of weights."""
    return math.gcd(hidden_size, intermediate_size) if precision == "int8" else 0


# --- scales of static int8 ---

# Half of them set the scales, and the error is measured on the others.
SCALE_ROWS = 1000
# A larger error flips a verdict only where the row is also that close to the threshold.
ERROR_QUANTILE = 0.95


def write_input_scales(
    folder: Path, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]
) -> float | None:
    """Measure the scales of the activations of a judge on rows that it was trained on, and write them into its folder.

    A judge whose logits they change by more than dynamic int8 does gets none, nor does an encoder that only torch runs.

    Returns:
        The error of a logit in int8, 95 of 100 rows have a smaller one; None for an encoder that only torch runs.
    """
    checkpoint = load(folder)
    if checkpoint.weights is None:
        return None
    step = max(1, len(questions) // SCALE_ROWS)
    texts = questions[::step], candidates[::step], [texts[0] for texts in references[::step]]
    rows = checkpoint.encoder.encode(*texts)
    scales = _measure_inputs(checkpoint.weights, rows[::2])
    scaled = replace(checkpoint.weights, input_scales=scales)
    pad_id = cast(int, checkpoint.tokenizer.pad_token_id)
    exact, rounded = (compute_logits(compile_encoder(scaled, kind), rows[1::2] or rows, pad_id) for kind in ("float32", "int8"))
    error = float(np.quantile(np.abs(rounded - exact), ERROR_QUANTILE))
    if error <= LOGIT_ERRORS["int8"]:
        with atomic(folder / INPUTS_FILE) as temporary:
            save_file({**scales, LOGIT_ERROR: np.array([error], np.float32)}, temporary)
    else:
        (folder / INPUTS_FILE).unlink(missing_ok=True)
    if (folder / CHECKSUMS).is_file():
        write_checksums(folder)
    return error


def _measure_inputs(weights: EncoderWeights, rows: Sequence[EncodedRow]) -> dict[str, Floats]:
    builder = _Builder(weights, int8=False)
    graph = builder.build()
    axes = ops.constant(np.array([0, 1], np.int64))
    largest = [ops.reduce_max(ops.abs(node), axes) for node in builder.inputs.values()]
    graph = openvino.Model(largest, graph.get_parameters(), "inputs")
    compiled = openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [port.get_any_name() for port in graph.inputs]
    # One by one, because padding is no input.
    batches = [pad_rows([row], 0) for row in rows]
    outputs = [list(compiled({name: batch[name] for name in names}).values()) for batch in batches]
    return {name: np.max([output[i] for output in outputs], axis=0) for i, name in enumerate(builder.inputs)}
