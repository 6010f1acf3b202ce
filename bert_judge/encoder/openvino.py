"""OpenVINO on a CPU, in float32, in bfloat16 if the CPU supports it, or with 8-bit weights and activations.

In int8 the weights are integers with one scale per output channel. At run time the CPU plugin computes one scale for every few
hundred activations of a token (dynamic quantisation:
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). These scales do not depend on other
rows, but another padding changes the order of summation, which rounds some values to the next integer and adds up to 0.06 in a
logit (`backend.LENGTH_MULTIPLE`). In int8 every row runs alone, one row per thread.
"""

import logging
import math
import threading
import warnings
from collections.abc import Iterator

import numpy as np
import openvino
import torch
from openvino import opset13 as ops
from openvino.frontend import FrontEndManager
from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
from transformers import PreTrainedModel

from bert_judge.encoder.backend import LOGIT_ERRORS, Batch, model_inputs, select_length_multiple
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Each batch runs in its own thread, so batches are smaller than torch's, less so with AMX (measured: docs/log.md).
BATCH_TOKENS, AMX_BATCH_TOKENS = 512, 1024
PRECISION_HINTS = {"float32": "f32", "bfloat16": "bf16", "int8": "f32"}


class OpenvinoBackend:
    """See `backend.Backend`. In int8, `group_size` activations share a scale; 0: activations are not quantised."""

    def __init__(self, converted: openvino.Model, model: PreTrainedModel, precision: str, group_size: int = 0) -> None:
        threads = torch.get_num_threads()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": PRECISION_HINTS[precision],
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group_size,
        }
        self.compiled = openvino.Core().compile_model(converted, "CPU", settings)
        self.names = model_inputs(model.config)
        self.parallel_batches = threads
        amx = precision == "bfloat16" and hardware.supports_amx()
        self.batch_tokens = 0 if group_size else AMX_BATCH_TOKENS if amx else BATCH_TOKENS
        self.length_multiple = select_length_multiple(model)
        self.logit_error = LOGIT_ERRORS[precision]
        self.name = f"openvino, cpu, {precision}"
        self._thread = threading.local()

    def run(self, batch: Batch) -> np.ndarray:
        if not hasattr(self._thread, "request"):
            self._thread.request = self.compiled.create_infer_request()
        result = self._thread.request.infer({name: batch[name] for name in self.names})
        return np.array(result[0])


def convert(model: PreTrainedModel, precision: str) -> OpenvinoBackend:
    """Convert a model in eval mode, which is not changed. Raises InputError: this kind of model cannot be converted."""
    group_size = 0
    if precision == "int8":
        # Larger is faster; it must divide the length of every row of weights.
        group_size = math.gcd(model.config.hidden_size, model.config.intermediate_size)
    try:
        return OpenvinoBackend(_convert(model, precision), model, precision, group_size)
    except (RuntimeError, TypeError, ValueError) as error:
        architecture, reason = model.config.model_type, " ".join(str(error).split())[:200]
        message = f"backend openvino: a {architecture} model cannot be run in {precision} ({reason}); choose backend torch"
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
        scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.finfo(np.float32).tiny) / 127
        integers = ops.constant(np.rint(weights / scale).astype(np.int8))
        dequantized = ops.multiply(ops.convert(integers, "f32"), ops.constant(scale.astype(np.float32)))
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
