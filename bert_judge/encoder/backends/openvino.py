"""OpenVINO on a CPU, in float32 or with 8-bit weights and activations.

In int8 the weights have a scale per output channel and are stored as integers with their scale beside them. The CPU plugin then
takes a scale for every few hundred numbers of every token as it runs (dynamic quantisation:
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). A token's scales know nothing of other
rows, so a row's logits do not depend on its batch.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import openvino
import torch
from openvino import opset13 as ops
from openvino.frontend import FrontEndManager
from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
from transformers import PreTrainedModel

from bert_judge.encoder.backends.protocol import Batch, takes
from bert_judge.encoder.backends.traced import Logits, example
from bert_judge.errors import InputError

# Of a logit in int8 (measured: docs/log.md).
ERROR = 0.25
# Rows run on a thread of their own, so a batch is smaller than torch's.
BUDGET = 1024


class OpenvinoBackend:
    """See `protocol.Backend`.

    Args:
        converted: the model; its inputs are in the order of `names`.
        names: inputs that it reads.
        group: numbers of a token that share a scale; 0: none is rounded.
    """

    def __init__(self, converted: openvino.Model, names: tuple[str, ...], group: int) -> None:
        threads = torch.get_num_threads()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group,
        }
        self.compiled = openvino.Core().compile_model(converted, "CPU", settings)
        self.names = names
        self.at_once = threads
        self.budget = BUDGET
        self.error = ERROR if group else 0.0
        self.name = f"openvino, cpu, {'int8' if group else 'float32'}"
        self._own = threading.local()

    def run(self, batch: Batch) -> np.ndarray:
        # A request serves one thread at a time.
        if not hasattr(self._own, "request"):
            self._own.request = self.compiled.create_infer_request()
        result = self._own.request.infer([batch[name] for name in self.names])
        return np.array(result[0])


def convert(model: PreTrainedModel, precision: str) -> OpenvinoBackend:
    """See `backends.convert`. It takes seconds and stays in memory, so nothing is kept."""
    device = next(model.parameters()).device
    tensors = tuple(tensor.to(device) for tensor in example(model))
    try:
        with torch.no_grad():
            # What `openvino.convert_model` does, without its report to the makers' server.
            frontend = FrontEndManager().load_by_framework("pytorch")
            traced = TorchScriptPythonDecoder(Logits(model).eval(), example_input=tensors)
            converted = frontend.convert(frontend.load(traced))
    except (RuntimeError, TypeError, ValueError) as error:
        kind, why = model.config.model_type, " ".join(str(error).split())[:200]
        raise InputError(f"backend openvino: a {kind} model cannot be converted ({why}); choose backend torch") from error
    if precision != "int8":
        return OpenvinoBackend(converted, takes(model.config), 0)
    _quantize(converted)
    # The larger the group the faster; it must divide the length of every row of weights.
    group = math.gcd(model.config.hidden_size, model.config.intermediate_size)
    return OpenvinoBackend(converted, takes(model.config), group)


def _quantize(model: openvino.Model) -> None:
    """Put 8-bit weights, with a scale per output channel, into every product with weights."""
    for product in model.get_ordered_ops():
        if product.get_type_name() != "MatMul":
            continue
        constant = product.input_value(1).get_node()
        if constant.get_type_name() != "Constant" or constant.get_element_type() != openvino.Type.f32:
            continue
        weights = constant.get_data() if product.get_transpose_b() else constant.get_data().T
        scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.finfo(np.float32).tiny) / 127
        integers = ops.constant(np.rint(weights / scale).astype(np.int8))
        restored = ops.multiply(ops.convert(integers, "f32"), ops.constant(scale.astype(np.float32)))
        smaller = ops.matmul(product.input_value(0), restored, product.get_transpose_a(), True)
        for target in list(product.output(0).get_target_inputs()):
            target.replace_source_output(smaller.output(0))
