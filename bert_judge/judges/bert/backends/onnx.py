"""ONNX Runtime on a CPU, in float32 or with 8-bit weights and activations.

In int8 the weights have a scale per output channel, fixed when the model is converted, and the activations of a matrix product one
scale, taken as it runs (dynamic quantisation: https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html). That
one scale would make a row's logits depend on its batch, so every row runs alone: no padding, and a row per thread at a time.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import PreTrainedModel

from bert_judge import tables
from bert_judge.judges.bert.backends.protocol import Batch, takes
from bert_judge.judges.bert.backends.pytorch import CPU_BUDGET
from bert_judge.judges.bert.backends.traced import Logits, example, fingerprint
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Raised when a converted model means something else than before.
VERSION = 1
OPSET = 17
# Of a logit in int8 (measured: docs/log.md).
ERROR = 0.6


class OnnxBackend:
    """See `protocol.Backend`.

    Args:
        path: the converted model.
        precision: what it computes in.
    """

    tile = 1

    def __init__(self, path: Path, precision: str) -> None:
        threads = torch.get_num_threads()
        alone = precision == "int8"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1 if alone else threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.names = [entry.name for entry in self.session.get_inputs()]
        self.budget = 0 if alone else CPU_BUDGET
        self.at_once = threads if alone else 1
        self.error = ERROR if alone else 0.0
        self.name = f"onnx, cpu, {precision}"

    def run(self, batch: Batch) -> np.ndarray:
        return self.session.run(None, {name: batch[name] for name in self.names})[0]


def convert(model: PreTrainedModel, precision: str, folder: Path | None) -> OnnxBackend:
    """See `backends.convert`."""
    with _place(folder) as place:
        path = place / f"{fingerprint(model, VERSION, precision, onnx.__version__, onnxruntime.__version__)}.onnx"
        if not path.is_file():
            log.info("converting the encoder to ONNX, %s", precision)
            with tables.atomic(path) as temporary:
                _write(model, precision, temporary)
        return OnnxBackend(path, precision)


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="bert-judge-") as name:
        yield Path(name)


def _write(model: PreTrainedModel, precision: str, path: Path) -> None:
    device = next(model.parameters()).device
    tensors = tuple(tensor.to(device) for tensor in example(model))
    names = list(takes(model.config))
    sizes = {name: {0: "rows", 1: "tokens"} for name in names} | {"logits": {0: "rows"}}
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Logits(model).eval(),
                tensors,
                str(path),
                input_names=names,
                output_names=["logits"],
                dynamic_axes=sizes,
                opset_version=OPSET,
                # The newer exporter needs half a minute and fixes the number of rows of some models.
                dynamo=False,
            )
    except (RuntimeError, TypeError, ValueError) as error:
        kind, why = model.config.model_type, " ".join(str(error).split())[:200]
        raise InputError(f"backend onnx: a {kind} model cannot be converted ({why}); choose backend torch") from error
    if precision == "int8":
        _quantize(path)


def _quantize(path: Path) -> None:
    whole = onnx.load(path)
    # What this mark promises (shapes inferred, constants folded) the session does by itself; without it a warning is printed.
    onnx.helper.set_model_props(whole, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        whole,
        path,
        op_types_to_quantize=["MatMul", "Gemm"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        # Only products with weights: a product of two activations would cost accuracy and gain little.
        extra_options={"MatMulConstBOnly": True},
    )
