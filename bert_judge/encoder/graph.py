"""The graph of an encoder (`weights.py`) in OpenVINO's operations, as transformers computes it."""

from __future__ import annotations

import numpy as np
import openvino
from openvino import Node
from openvino import opset13 as ops

from bert_judge.encoder.backend import INPUT_NAMES
from bert_judge.encoder.weights import EncoderWeights, Linear, Matrix, Norm


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
