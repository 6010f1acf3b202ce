"""Conversion of an encoder from torch's model to OpenVINO, for encoders that are not in `weights.py`."""

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino
import torch
from openvino import opset13 as ops
from openvino.frontend import FrontEndManager
from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
from transformers import PreTrainedModel

from bert_judge.encoder.openvino import OpenvinoBackend, quantization_group
from bert_judge.encoder.torch_model import max_input_length, model_inputs
from bert_judge.encoder.weights import Matrix
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


def convert(model: PreTrainedModel, precision: str) -> OpenvinoBackend:
    """Convert a model in eval mode, which is not changed. Raises InputError: this kind of model cannot be converted."""
    config: Any = model.config
    group_size = quantization_group(config.hidden_size, config.intermediate_size, precision)
    try:
        return OpenvinoBackend(_convert(model, precision), max_input_length(model), precision, group_size)
    except (RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        message = f"backend openvino: a {config.model_type} model cannot be run in {precision} ({reason}); choose backend torch"
        raise InputError(message) from error


def _convert(model: PreTrainedModel, precision: str) -> openvino.Model:
    log.info("converting the encoder to OpenVINO, %s", precision)
    device = next(model.parameters()).device
    tensors = tuple(tensor.to(device) for tensor in example_inputs(model))
    # Tracing reads every property; this one, which is not used, would warn.
    model.base_model.loss_function = None  # type: ignore[assignment]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The same as `openvino.convert_model`, without its telemetry.
        frontend = FrontEndManager().load_by_framework("pytorch")
        traced = TorchScriptPythonDecoder(TraceableModel(model).eval(), example_input=tensors)
        converted = frontend.convert(frontend.load(traced))
    for port, name in zip(converted.inputs, model_inputs(model.config), strict=True):
        port.get_tensor().set_names({name})
    if precision == "int8":
        _quantize(converted)
    else:
        _prevent_gate_fusion(converted)
    return converted


def _prevent_gate_fusion(model: openvino.Model) -> None:
    """Transpose the weights after every gate, so that OpenVINO does not fuse a gated layer into one operation.

    In bfloat16 on AMX the fused operation divides by half of a stream's threads, which is 0 here, and kills the process
    (https://github.com/openvinotoolkit/openvino/issues/28550).
    """
    for product, weights in _products_with_weights(model):
        if _is_gated(product.input_value(0).get_node()):
            transposed = ops.constant(np.ascontiguousarray(weights.T))
            _replace(product, ops.matmul(product.input_value(0), transposed, product.get_transpose_a(), False))


def _is_gated(node: openvino.Node) -> bool:
    factors = {value.get_node().get_type_name() for value in node.input_values()}
    return node.get_type_name() == "Multiply" and not factors.isdisjoint({"Swish", "Gelu"})


def _quantize(model: openvino.Model) -> None:
    for product, weights in _products_with_weights(model):
        integers, scale = Matrix(weights, None).quantize()
        dequantized = ops.multiply(ops.convert(ops.constant(integers), "f32"), ops.constant(scale))
        _replace(product, ops.matmul(product.input_value(0), dequantized, product.get_transpose_a(), True))


def _products_with_weights(model: openvino.Model) -> Iterator[tuple[openvino.Node, np.ndarray]]:
    """Yield the matrix products with constant weights, and these weights, shape (output channels, input channels)."""
    for product in model.get_ordered_ops():
        if product.get_type_name() != "MatMul":
            continue
        constant = product.input_value(1).get_node()
        if constant.get_type_name() == "Constant" and constant.get_element_type() == openvino.Type.f32:
            yield product, constant.get_data() if product.get_transpose_b() else constant.get_data().T


def _replace(node: openvino.Node, replacement: openvino.Node) -> None:
    for target in list(node.output(0).get_target_inputs()):
        target.replace_source_output(replacement.output(0))


class TraceableModel(torch.nn.Module):
    """Maps tensors in the order of `model_inputs` to logits, as the converter needs it."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self.names = model_inputs(model.config)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, tensors, strict=True))).logits


def example_inputs(model: PreTrainedModel) -> tuple[torch.Tensor, ...]:
    """Return two rows, one of them padded: a trace of unpadded rows may lose the mask."""
    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
    return tuple(tensors[name] for name in model_inputs(model.config))
