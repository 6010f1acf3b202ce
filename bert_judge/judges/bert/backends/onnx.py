"""ONNX Runtime on a CPU, in float32 or with 8-bit weights and activations.

In int8 the weights have one scale per output channel, fixed by the conversion, and the activations of a matrix product one scale,
computed at run time (dynamic quantisation: https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html). That
scale would make a row's logits depend on its batch, so every row runs alone, without padding, one row per thread.
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
from bert_judge.judges.bert.backends.base import Batch, TraceableModel, example_inputs, model_fingerprint, model_inputs
from bert_judge.judges.bert.backends.pytorch import CPU_BATCH_TOKENS
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Increase when the converted model changes.
VERSION = 1
OPSET = 17
# Of a logit in int8 (measured: docs/log.md).
INT8_LOGIT_ERROR = 0.6


class OnnxBackend:
    """See `base.Backend`.

    Args:
        path: the converted model.
    """

    length_multiple = 1

    def __init__(self, path: Path, precision: str) -> None:
        threads = torch.get_num_threads()
        row_by_row = precision == "int8"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1 if row_by_row else threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.names = [entry.name for entry in self.session.get_inputs()]
        self.batch_tokens = 0 if row_by_row else CPU_BATCH_TOKENS
        self.parallel_batches = threads if row_by_row else 1
        self.logit_error = INT8_LOGIT_ERROR if row_by_row else 0.0
        self.name = f"onnx, cpu, {precision}"

    def run(self, batch: Batch) -> np.ndarray:
        return self.session.run(None, {name: batch[name] for name in self.names})[0]


def convert(model: PreTrainedModel, precision: str, folder: Path | None) -> OnnxBackend:
    """See `backends.convert_model`."""
    with _cache_folder(folder) as cache:
        path = cache / f"{model_fingerprint(model, VERSION, precision, onnx.__version__, onnxruntime.__version__)}.onnx"
        if not path.is_file():
            log.info("converting the encoder to ONNX, %s", precision)
            with tables.atomic(path) as temporary:
                _export(model, precision, temporary)
        return OnnxBackend(path, precision)


@contextmanager
def _cache_folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="bert-judge-") as name:
        yield Path(name)


def _export(model: PreTrainedModel, precision: str, path: Path) -> None:
    device = next(model.parameters()).device
    tensors = tuple(tensor.to(device) for tensor in example_inputs(model))
    names = list(model_inputs(model.config))
    sizes = {name: {0: "rows", 1: "tokens"} for name in names} | {"logits": {0: "rows"}}
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                TraceableModel(model).eval(),
                tensors,
                str(path),
                input_names=names,
                output_names=["logits"],
                dynamic_axes=sizes,
                opset_version=OPSET,
                # The newer exporter takes half a minute and fixes the batch size of some models.
                dynamo=False,
            )
    except (RuntimeError, TypeError, ValueError) as error:
        architecture, reason = model.config.model_type, " ".join(str(error).split())[:200]
        raise InputError(f"backend onnx: a {architecture} model cannot be converted ({reason}); choose backend torch") from error
    if precision == "int8":
        _quantize(path)


def _quantize(path: Path) -> None:
    model = onnx.load(path)
    # The session infers shapes and folds constants itself; without this property a warning asks for it.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        model,
        path,
        op_types_to_quantize=["MatMul", "Gemm"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        # Quantising products of two activations costs accuracy and gains little.
        extra_options={"MatMulConstBOnly": True},
    )
