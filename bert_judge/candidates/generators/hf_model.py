"""Loads a causal language model and its tokenizer from a prepared folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils.logging import disable_progress_bar

from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to generate.

    Attributes:
        window: longest sequence in tokens; None when the model does not say.
        ends: ids of the tokens that end an answer.
        pad: id that fills up shorter rows of a batch; it is masked, so that any id does.
    """

    # Any: the annotations of transformers do not tell what these two can do.
    model: Any
    tokenizer: Any
    window: int | None
    ends: frozenset[int]
    pad: int


def load(name: str, settings: Mapping[str, Any], folder: Path, spread: bool = True) -> LoadedModel:
    """Load a model onto the accelerators there are, else onto the CPU.

    Args:
        name: the model's name in the configuration, for messages.
        settings: uses `dtype` and `trust_remote_code`.
        folder: weights, configuration and tokenizer.
        spread: False leaves it on the CPU, for whoever places it then.

    Raises:
        InputError: the folder does not hold a whole causal language model that transformers knows, or memory is too small.
    """
    disable_progress_bar()
    where = f"models.{name}: {folder}"
    common = {"trust_remote_code": settings["trust_remote_code"], "local_files_only": True}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, **common)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            **common,
            dtype=number_format(settings["dtype"]),
            # Spreads a model that is larger than one accelerator over all of them.
            device_map="auto" if spread and torch.cuda.is_available() else None,
            output_loading_info=True,
        )
    except torch.OutOfMemoryError as error:
        raise InputError(f"{where}: does not fit into the accelerator's memory; choose a smaller model or another dtype") from error
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{where}: cannot be loaded as a causal language model: {reason}; name another model") from error
    model, info = loaded
    if missing := sorted(info["missing_keys"]):
        # transformers would fill them with random numbers.
        raise InputError(
            f"{where}: its weights lack {len(missing)} tensors of a causal language model, {missing[0]!r} for one; "
            "name a model with a language-model head"
        )
    _warn_of_offload(name, model)
    ends = _ends(model, tokenizer)
    if not ends:
        log.warning("%s names no token that ends an answer; every answer will run to max_new_tokens", where)
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(ends, default=0)
    # The published sampling settings (temperature, penalties, …) must not leak into the configured ones: `generate` takes
    # whatever it is not told from here.
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=sorted(ends) or None, pad_token_id=pad)
    window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return LoadedModel(model.eval(), tokenizer, window, ends, pad)


def number_format(setting: str) -> torch.dtype:
    """The dtype of a setting; `auto` is bfloat16 where the hardware computes in it, else float16 (CUDA) or float32 (CPU)."""
    if setting != "auto":
        return getattr(torch, setting)
    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    capabilities = torch.cpu.get_capabilities()
    return torch.bfloat16 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else torch.float32


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """End tokens by the model's and by the tokenizer's account; chat models often name theirs in one place only."""
    named = model.generation_config.eos_token_id if model.generation_config else None
    ids = named if isinstance(named, list) else [named]
    return frozenset(number for number in [*ids, tokenizer.eos_token_id] if number is not None)


def _warn_of_offload(name: str, model: Any) -> None:
    places = set(map(str, getattr(model, "hf_device_map", {}).values()))
    if torch.cuda.is_available() and places & {"cpu", "disk"}:
        log.warning("models.%s: a part of the model does not fit into the accelerator and lies in %s; this is slow", name, places)
