"""Weights of an encoder as arrays, read without torch: BERT, RoBERTa and XLM-RoBERTa with a classification head.

The file has the names of transformers. Its matrices are float32, or 8-bit integers with one scale per row (`checkpoint.py`).
Weights may come from a stranger, so every shape is compared with config.json before anything is computed.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from bert_judge.encoder.judge_folder import TREES_FILE
from bert_judge.runtime.errors import InputError

# Kind of model → prefix of its weights' names.
PREFIXES = {"bert": "bert", "roberta": "roberta", "xlm-roberta": "roberta"}
# Matrices as 8-bit integers, which only this program reads, and the ending of the names of their scales.
WEIGHTS_FILE = "weights.int8.safetensors"
SCALE = ".scale"
# What `openvino.write_input_scales` measured: the largest absolute input of every channel of these parts of a layer (key and value
# read what the query reads), and the error of a logit that they lead to in int8. A judge may have no such file.
INPUTS_FILE = "inputs.safetensors"
SCALED_PARTS = ("query", "attention_output", "intermediate", "output")
LOGIT_ERROR = "logit_error"
MAX_INTEGER = 127
Floats = NDArray[np.float32]


class Matrix(NamedTuple):
    """Values of type float32; or of type int8, with the scale of each row, shape (rows, 1)."""

    values: NDArray[Any]
    scale: Floats | None

    def dequantize(self) -> Floats:
        return self.values if self.scale is None else self.values.astype(np.float32) * self.scale

    def quantize(self) -> tuple[NDArray[np.int8], Floats]:
        if self.scale is not None:
            return self.values, self.scale
        largest = np.abs(self.values).max(axis=1, keepdims=True)
        scale = np.maximum(largest / np.float32(MAX_INTEGER), np.finfo(np.float32).tiny)
        return np.rint(self.values / scale).astype(np.int8), scale


class Linear(NamedTuple):
    """A layer whose weight has the shape (outputs, inputs)."""

    weight: Matrix
    bias: Floats


class Norm(NamedTuple):
    """A layer normalisation."""

    weight: Floats
    bias: Floats


class Layer(NamedTuple):
    """A transformer layer."""

    query: Linear
    key: Linear
    value: Linear
    attention_output: Linear
    attention_norm: Norm
    intermediate: Linear
    output: Linear
    output_norm: Norm


@dataclass(frozen=True)
class EncoderWeights:
    """An encoder with a head of two logits.

    Attributes:
        first_position: position of the first token; RoBERTa's positions start after the padding token's id.
        epsilon: of the layer normalisations.
        input_scales: name (`input_name`) → largest absolute input by channel; empty if not measured.
        logit_error: in int8 with these scales.
    """

    words: Matrix
    positions: Matrix
    segments: Matrix
    embedding_norm: Norm
    layers: list[Layer]
    dense: Linear
    classifier: Linear
    heads: int
    first_position: int
    epsilon: float
    input_scales: dict[str, Floats]
    logit_error: float

    @property
    def window(self) -> int:
        """The maximum input in tokens."""
        return len(self.positions.values) - self.first_position

    @property
    def num_parameters(self) -> int:
        """Number of weights without the vectors, which are few."""
        layers = [component.weight for layer in self.layers for component in layer if isinstance(component, Linear)]
        return sum(matrix.values.size for matrix in (self.words, self.positions, *layers, self.dense.weight))


def input_name(layer: int, component: str) -> str:
    """Return the name of the inputs of a part of a layer in `INPUTS_FILE`."""
    return f"layer.{layer}.{component}.inputs"


def read_weights(folder: Path) -> EncoderWeights | None:
    """Read the encoder of a judge; None for an encoder that only torch runs.

    Raises:
        InputError: a file is damaged, does not match config.json, or holds weights that are not numbers.
    """
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if not isinstance(config, dict) or not _is_supported(config):
            return None
        return _Reader(folder).read(config)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable judge: {' '.join(str(error).split())[:300]}") from error


def _is_supported(config: Mapping[str, Any]) -> bool:
    return (
        config.get("model_type") in PREFIXES
        and config.get("hidden_act", "gelu") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
    )


class _Reader:
    """Takes tensors from the files of a folder, and compares their shapes with the expected ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = sorted(folder.glob("*.safetensors"))
        if folder / WEIGHTS_FILE in files:
            files = [file for file in files if file.name in (WEIGHTS_FILE, INPUTS_FILE)]
        self.tensors = {name: array for file in files if file.name != TREES_FILE for name, array in load_file(file).items()}

    def read(self, config: Mapping[str, Any]) -> EncoderWeights:
        width, inner, kind = config["hidden_size"], config["intermediate_size"], config["model_type"]
        prefix, is_bert = PREFIXES[kind], kind == "bert"
        embeddings = f"{prefix}.embeddings"
        if config["num_attention_heads"] < 1 or width % config["num_attention_heads"]:
            raise ValueError("config.json has a hidden_size that its attention heads do not divide")
        # Each part is compared with the files before the next one, so that a wrong number of layers is found at the first.
        return EncoderWeights(
            words=self._matrix(f"{embeddings}.word_embeddings.weight", config["vocab_size"], width),
            positions=self._matrix(f"{embeddings}.position_embeddings.weight", config["max_position_embeddings"], width),
            segments=self._matrix(f"{embeddings}.token_type_embeddings.weight", config["type_vocab_size"], width),
            embedding_norm=self._norm(f"{embeddings}.LayerNorm", width),
            layers=[self._layer(f"{prefix}.encoder.layer.{i}", width, inner) for i in range(config["num_hidden_layers"])],
            dense=self._linear("bert.pooler.dense" if is_bert else "classifier.dense", width, width),
            classifier=self._linear("classifier" if is_bert else "classifier.out_proj", 2, width),
            heads=config["num_attention_heads"],
            first_position=0 if is_bert else config["pad_token_id"] + 1,
            epsilon=config["layer_norm_eps"],
            input_scales=dict(self._input_scales(config["num_hidden_layers"], width, inner)),
            logit_error=float(self._take(LOGIT_ERROR, 1)[0]) if LOGIT_ERROR in self.tensors else 0.0,
        )

    def _layer(self, name: str, width: int, inner: int) -> Layer:
        query, key, value = (self._linear(f"{name}.attention.self.{layer}", width, width) for layer in ("query", "key", "value"))
        return Layer(
            query,
            key,
            value,
            self._linear(f"{name}.attention.output.dense", width, width),
            self._norm(f"{name}.attention.output.LayerNorm", width),
            self._linear(f"{name}.intermediate.dense", inner, width),
            self._linear(f"{name}.output.dense", width, inner),
            self._norm(f"{name}.output.LayerNorm", width),
        )

    def _input_scales(self, layers: int, width: int, inner: int) -> Iterator[tuple[str, Floats]]:
        for i, component in itertools.product(range(layers if LOGIT_ERROR in self.tensors else 0), SCALED_PARTS):
            values = self._take(input_name(i, component), inner if component == "output" else width)
            yield input_name(i, component), np.maximum(values, np.finfo(np.float32).tiny)

    def _linear(self, name: str, outputs: int, inputs: int) -> Linear:
        return Linear(self._matrix(f"{name}.weight", outputs, inputs), self._take(f"{name}.bias", outputs))

    def _norm(self, name: str, width: int) -> Norm:
        return Norm(self._take(f"{name}.weight", width), self._take(f"{name}.bias", width))

    def _matrix(self, name: str, rows: int, columns: int) -> Matrix:
        if name + SCALE not in self.tensors:
            return Matrix(self._take(name, rows, columns), None)
        return Matrix(self._take(name, rows, columns, dtype=np.int8), self._take(name + SCALE, rows, 1))

    def _take(self, name: str, *shape: int, dtype: type[np.generic] = np.float32) -> NDArray[Any]:
        tensor = self.tensors.get(name)
        if tensor is None or tensor.shape != shape:
            size, actual = (0, "is missing") if tensor is None else (tensor.size, f"has the shape {tensor.shape}")
            description = "a larger model" if size < math.prod(shape) else "another model"
            raise ValueError(f"{name!r} {actual}, and config.json describes {description}; download or train it again")
        if tensor.dtype != dtype:
            raise ValueError(f"{name!r} has the type {tensor.dtype} instead of {np.dtype(dtype)}")
        if not np.isfinite(tensor).all():
            name = name.removesuffix(SCALE)
            raise InputError(f"{self.folder}: the weights {name!r} contain NaN or infinity; download or train the model again")
        return tensor
