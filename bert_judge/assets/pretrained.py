"""Loading of models and tokenizers from a folder in the format of transformers.

transformers initializes missing weights randomly and missing vocabularies as empty, with only a warning; here that is an error.
"""

import json
import math
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel
from transformers.utils import logging as transformers_logging

from bert_judge.assets import repository_files
from bert_judge.runtime.errors import InputError

# What transformers, tokenizers and safetensors raise for a file that is not what it should be.
FILE_ERRORS = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    ImportError,
    EOFError,
    SafetensorError,
)
# Most elements of a model per element of its file: a new head or pooler is added, and eight weights may be packed into one.
MAX_GROWTH = 10
# Beginnings of the settings with the number of layers; Qwen's `max_window_layers` is none.
LAYER_COUNTS = ("num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers")
# The layer between an encoder and its head, which many checkpoints lack.
POOLER = "pooler"


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a folder. Raises InputError: it is invalid, or the folder holds no complete model."""
    repository_files.list_model_files(folder, remote_code=False, where=str(folder))
    return _load(AutoTokenizer, folder)


def load_backbone(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    """Load a model without a head. Raises InputError: it is unreadable, or its weights do not match its config.json."""
    return _load_model(AutoModel, folder, new_head=True, dtype=dtype)


def load_classifier(folder: Path, logits: int, new_head: bool) -> PreTrainedModel:
    """Load a model with a classification head of `logits` outputs, in float32; `new_head`: a random one if the folder has none.

    Raises:
        InputError: it is unreadable, or its weights do not match its config.json.
    """
    return _load_model(AutoModelForSequenceClassification, folder, new_head, num_labels=logits, dtype=torch.float32)


def load_config(folder: Path) -> Any:
    """Load the config.json of a folder, without what says how and not what to compute.

    A key such as `_attn_implementation` may name a repository, whose compiled code transformers would download and run.

    Raises:
        InputError: it is invalid, or of an unknown kind of model.
    """
    try:
        content = _without_implementations(json.loads((folder / "config.json").read_text("utf-8")))
        return CONFIG_MAPPING[content["model_type"]].from_dict(content)
    except (*FILE_ERRORS, RecursionError) as error:
        raise InputError(f"{folder}: not a readable model: config.json: {' '.join(str(error).split())[:300]}") from error


def _without_implementations(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return {
        key: _without_implementations(value)
        for key, value in content.items()
        if not key.startswith("_") and not key.endswith("_implementation") and key != "auto_map"
    }


def _load_model(kind: Any, folder: Path, new_head: bool, num_labels: int | None = None, **options: Any) -> PreTrainedModel:
    config = load_config(folder)
    if num_labels is not None:
        config.num_labels = num_labels
    if config.model_type == "deberta-v2":
        options["attn_implementation"] = "eager"
    check_size(kind, config, folder)
    model, loading_info = _load(kind, folder, **options, config=config, ignore_mismatched_sizes=True, output_loading_info=True)
    unloaded = sorted({*loading_info["missing_keys"], *(name for name, *_ in loading_info["mismatched_keys"])})
    if new_head:
        encoder = "" if model.base_model is model else f"{model.base_model_prefix}."
        unloaded = [name for name in unloaded if name.startswith(encoder) and not name.startswith(f"{encoder}{POOLER}")]
    if unloaded:
        raise InputError(
            f"{folder}: its weights do not match its config.json: {unloaded[0]!r} is missing or of another shape "
            f"({len(unloaded)} such tensors); download or train the model again"
        )
    check_finite(model, folder)
    return model


def check_finite(model: PreTrainedModel, folder: Path) -> None:
    """Refuse weights that are not numbers, with which every score would be none. Raises InputError: names the first of them."""
    for name, weights in model.named_parameters():
        if not weights.isfinite().all():
            raise InputError(f"{folder}: the weights {name!r} contain NaN or infinity; download or train the model again")


def _load(kind: Any, folder: Path, **options: Any) -> Any:
    try:
        with suppress_warnings():
            return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)
    except pickle.PickleError as error:
        raise InputError(f"{folder}: not a readable model: its weights hold more than arrays, or are damaged") from error
    except FILE_ERRORS as error:
        raise InputError(f"{folder}: not a readable model: {' '.join(str(error).split())[:300]}") from error


def check_size(kind: Any, config: Any, folder: Path) -> None:
    """Refuse a config.json that describes a larger model than the folder's weights, and could exhaust the memory."""
    files = list(folder.glob("*.safetensors"))
    if not files:
        return
    shapes = [shape for file in files for shape in _tensor_shapes(file)]
    try:
        # A layer has one tensor at least; building millions of them would take forever.
        counts = [value for key, value in config.to_dict().items() if key.startswith(LAYER_COUNTS) and isinstance(value, int)]
        layers = max(counts, default=0)
        with torch.device("meta"), suppress_warnings():
            size = sum(map(torch.numel, kind.from_config(config).parameters())) if layers <= len(shapes) else math.inf
    except FILE_ERRORS as error:
        raise InputError(f"{folder}: not a readable model: {' '.join(str(error).split())[:300]}") from error
    if size > MAX_GROWTH * sum(map(math.prod, shapes)):
        raise InputError(f"{folder}: its weights do not match its config.json, which describes a larger model; download it again")


def _tensor_shapes(file: Path) -> list[list[int]]:
    try:
        with safe_open(file, "pt") as weights:
            return [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118
    except FILE_ERRORS as error:
        raise InputError(f"{file.parent}: not a readable model: {file.name}: {' '.join(str(error).split())[:300]}") from error


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Suppress the warning of transformers about new heads, and progress bars."""
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
