"""OpenVINO on a CPU, in float32, in bfloat16 where the CPU computes in it, or with 8-bit weights and activations.

In int8 the weights have a scale per output channel and are stored as integers with their scale beside them. The CPU plugin then
takes a scale for every few hundred numbers of every token as it runs (dynamic quantisation:
https://docs.openvino.ai/2026/openvino-workflow/running-inference/optimize-inference.html). A token's scales know nothing of other
rows; but sums in another order, as another shape of batch brings them, move a few numbers across the border between two
integers, and that adds up (0.03 in a logit). So in int8 every row runs alone: no padding, and a row per thread at a time.
"""

from __future__ import annotations

import contextlib
import logging
import math
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openvino
import torch
from openvino import opset13 as ops
from openvino.frontend import FrontEndManager
from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
from transformers import PretrainedConfig, PreTrainedModel

from bert_judge.judges.bert.backends.protocol import Batch, takes
from bert_judge.judges.bert.backends.traced import Logits, example, fingerprint
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Raised when a converted model means something else than before.
VERSION = 2
FILE = "model.xml"
# Of a logit (measured: docs/log.md).
ERRORS = {"float32": 0.0, "bfloat16": 0.07, "int8": 0.25}
# Batches run on a thread of their own each, so they are smaller than torch's, unless products are next to nothing beside the rest
# (measured: docs/log.md).
BUDGET, TILES_BUDGET = 512, 1024
# Rows of a tile of AMX.
TILE = 16
HINTS = {"float32": "f32", "bfloat16": "bf16", "int8": "f32"}


class OpenvinoBackend:
    """See `protocol.Backend`.

    Args:
        converted: the model.
        config: of the model.
        precision: number format of its products.
        group: in int8, numbers of a token that share a scale; 0: none is rounded.
    """

    def __init__(self, converted: openvino.Model, config: PretrainedConfig, precision: str, group: int = 0) -> None:
        threads = torch.get_num_threads()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
            "INFERENCE_PRECISION_HINT": HINTS[precision],
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": group,
        }
        self.compiled = openvino.Core().compile_model(converted, "CPU", settings)
        self.names = takes(config)
        self.at_once = threads
        tiles = precision == "bfloat16" and hardware.supports_amx()
        self.budget = 0 if group else TILES_BUDGET if tiles else BUDGET
        # A batch may not become longer than the model's table of positions.
        self.tile = TILE if tiles and getattr(config, "max_position_embeddings", TILE) % TILE == 0 else 1
        self.error = ERRORS[precision]
        self.name = f"openvino, cpu, {precision}"
        self._own = threading.local()

    def run(self, batch: Batch) -> np.ndarray:
        # A request serves one thread at a time.
        if not hasattr(self._own, "request"):
            self._own.request = self.compiled.create_infer_request()
        result = self._own.request.infer({name: batch[name] for name in self.names})
        return np.array(result[0])


def convert(model: PreTrainedModel, precision: str, folder: Path | None) -> OpenvinoBackend:
    """See `backends.convert`."""
    group = 0
    if precision == "int8":
        # The larger the group the faster; it must divide the length of every row of weights.
        group = math.gcd(model.config.hidden_size, model.config.intermediate_size)
    try:
        converted = _kept(model, precision, folder) if folder is not None else _made(model, precision)
        return OpenvinoBackend(converted, model.config, precision, group)
    except (RuntimeError, TypeError, ValueError) as error:
        kind, why = model.config.model_type, " ".join(str(error).split())[:200]
        raise InputError(f"backend openvino: a {kind} model cannot be run in {precision} ({why}); choose backend torch") from error


def _kept(model: PreTrainedModel, precision: str, folder: Path) -> openvino.Model:
    """The converted model of a folder, made first where it is not there."""
    # Other formats than int8 are taken when the model is loaded.
    weights = "int8" if precision == "int8" else "float32"
    place = folder / fingerprint(model, VERSION, weights, openvino.__version__)
    if not place.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as name:
            # The weights lie in a second file, so the whole folder appears at once.
            whole = Path(name) / "whole"
            openvino.save_model(_made(model, precision), whole / FILE, compress_to_fp16=False)
            # Another job may have been faster: then its copy is as good.
            with contextlib.suppress(OSError):
                whole.rename(place)
    return openvino.Core().read_model(place / FILE)


def _made(model: PreTrainedModel, precision: str) -> openvino.Model:
    log.info("converting the encoder to OpenVINO, %s", precision)
    device = next(model.parameters()).device
    tensors = tuple(tensor.to(device) for tensor in example(model))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What `openvino.convert_model` does, without its report to the makers' server.
        frontend = FrontEndManager().load_by_framework("pytorch")
        traced = TorchScriptPythonDecoder(Logits(model).eval(), example_input=tensors)
        converted = frontend.convert(frontend.load(traced))
    for port, name in zip(converted.inputs, takes(model.config), strict=True):
        port.get_tensor().set_names({name})
    if precision == "int8":
        _quantize(converted)
    else:
        _keep_gates_apart(converted)
    return converted


def _keep_gates_apart(model: openvino.Model) -> None:
    """Turn the weights behind every gate round, so that OpenVINO does not take a gated layer for one operation.

    In bfloat16 on AMX that operation divides by half of a stream's threads, which is 0 here, and kills the process
    (https://github.com/openvinotoolkit/openvino/issues/28550). A model kept for float32 is the one for bfloat16 too.
    """
    for product, weights in _products_with_weights(model):
        if _is_gated(product.input_value(0).get_node()):
            turned = ops.constant(np.ascontiguousarray(weights.T))
            _replace(product, ops.matmul(product.input_value(0), turned, product.get_transpose_a(), False))


def _is_gated(node: openvino.Node) -> bool:
    factors = {value.get_node().get_type_name() for value in node.input_values()}
    return node.get_type_name() == "Multiply" and not factors.isdisjoint({"Swish", "Gelu"})


def _quantize(model: openvino.Model) -> None:
    """Put 8-bit weights, with a scale per output channel, into every product with weights."""
    for product, weights in _products_with_weights(model):
        scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.finfo(np.float32).tiny) / 127
        integers = ops.constant(np.rint(weights / scale).astype(np.int8))
        restored = ops.multiply(ops.convert(integers, "f32"), ops.constant(scale.astype(np.float32)))
        _replace(product, ops.matmul(product.input_value(0), restored, product.get_transpose_a(), True))


def _products_with_weights(model: openvino.Model) -> Iterator[tuple[openvino.Node, np.ndarray]]:
    """The products of an input and weights of the model, and these: shape (output channels, input channels)."""
    for product in model.get_ordered_ops():
        if product.get_type_name() != "MatMul":
            continue
        constant = product.input_value(1).get_node()
        if constant.get_type_name() == "Constant" and constant.get_element_type() == openvino.Type.f32:
            yield product, constant.get_data() if product.get_transpose_b() else constant.get_data().T


def _replace(node: openvino.Node, other: openvino.Node) -> None:
    for target in list(node.output(0).get_target_inputs()):
        target.replace_source_output(other.output(0))
