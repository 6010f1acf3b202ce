"""Models and tokenizers from a folder in the format of transformers, whole or not at all.

transformers fills what a folder lacks with random numbers and an empty vocabulary, and only says so in a log; here that is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel
from transformers.utils import logging as transformers_logging

from bert_judge.assets import model_files
from bert_judge.runtime.errors import InputError

# Between an encoder and its head; many folders do not have it.
POOLER = "pooler"


def tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder.

    Raises:
        InputError: the folder lacks a part of a model, or its tokenizer cannot be read.
    """
    model_files.complete(folder, remote_code=False, where=str(folder))
    return _load(AutoTokenizer, folder)


def backbone(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    """The model of a folder without a head.

    Raises:
        InputError: it cannot be read, or its weights are not those of its config.json.
    """
    return _model(AutoModel, folder, new_head=True, dtype=dtype)


def classifier(folder: Path, logits: int, new_head: bool) -> PreTrainedModel:
    """The model of a folder with a head of so many logits, in float32.

    Args:
        new_head: the folder may have no such head or one of something else, whose place a random one takes.

    Raises:
        InputError: it cannot be read, or its weights are not those of its config.json.
    """
    options: dict[str, Any] = {"dtype": torch.float32, "num_labels": logits}
    if _load(AutoConfig, folder).model_type == "deberta-v2":
        options["attn_implementation"] = "eager"
    return _model(AutoModelForSequenceClassification, folder, new_head, **options)


def _model(kind: Any, folder: Path, new_head: bool, **options: Any) -> PreTrainedModel:
    model, found = _load(kind, folder, **options, ignore_mismatched_sizes=True, output_loading_info=True)
    unread = sorted({*found["missing_keys"], *(name for name, *_ in found["mismatched_keys"])})
    if new_head:
        encoder = "" if model.base_model is model else f"{model.base_model_prefix}."
        unread = [name for name in unread if name.startswith(encoder) and not name.startswith(f"{encoder}{POOLER}")]
    if unread:
        raise InputError(
            f"{folder}: its weights are not those of its config.json: {unread[0]!r} is missing or of another shape "
            f"({len(unread)} such tensors); fetch or train the model again"
        )
    return model


def _load(kind: Any, folder: Path, **options: Any) -> Any:
    try:
        with quiet():
            return kind.from_pretrained(folder, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not a readable model: {' '.join(str(error).split())[:300]}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from reporting that a backbone has no head, which it gets here, and from drawing bars into logs."""
    before, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)
        if bars:
            transformers_logging.enable_progress_bar()
