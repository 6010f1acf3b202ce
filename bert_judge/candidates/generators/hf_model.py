"""Loading of a causal language model and its tokenizer from a prepared folder."""

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
        max_length: longest sequence in tokens; None if the model does not declare it.
        eos_ids: ids of the tokens that end an answer.
        pad_id: id that pads shorter rows of a batch; it is masked, so any id will do.
    """

    # Any: transformers' annotations lack the methods that are needed.
    model: Any
    tokenizer: Any
    max_length: int | None
    eos_ids: frozenset[int]
    pad_id: int


def load_model(name: str, settings: Mapping[str, Any], folder: Path, use_accelerators: bool = True) -> LoadedModel:
    """Load a model onto the available accelerators, else onto the CPU.

    Args:
        name: the model's name in the configuration, for messages.
        settings: uses `dtype` and `trust_remote_code`.
        folder: weights, configuration and tokenizer.
        use_accelerators: False leaves it on the CPU, for a caller that places it.

    Raises:
        InputError: the folder is not a complete causal language model known to transformers, or memory is too small.
    """
    disable_progress_bar()
    where = f"models.{name}: {folder}"
    common = {"trust_remote_code": settings["trust_remote_code"], "local_files_only": True}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, **common)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            **common,
            dtype=resolve_dtype(settings["dtype"]),
            # Distributes a model that is larger than one accelerator over all of them.
            device_map="auto" if use_accelerators and torch.cuda.is_available() else None,
            output_loading_info=True,
        )
    except torch.OutOfMemoryError as error:
        raise InputError(f"{where}: does not fit into the accelerator's memory; choose a smaller model or another dtype") from error
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{where}: cannot be loaded as a causal language model: {reason}; name another model") from error
    model, info = loaded
    if missing := sorted(info["missing_keys"]):
        # transformers would initialize them randomly.
        raise InputError(
            f"{where}: its weights lack {len(missing)} tensors of a causal language model, for example {missing[0]!r}; "
            "name a model with a language-model head"
        )
    devices = set(map(str, getattr(model, "hf_device_map", {}).values()))
    if torch.cuda.is_available() and devices & {"cpu", "disk"}:
        log.warning("models.%s: parts of the model do not fit onto the accelerator and are on %s; this is slow", name, devices)
    # Chat models often declare their end tokens in only one of the two places.
    declared = model.generation_config.eos_token_id if model.generation_config else None
    ids = [*(declared if isinstance(declared, list) else [declared]), tokenizer.eos_token_id]
    eos_ids = frozenset(number for number in ids if number is not None)
    if not eos_ids:
        log.warning("%s declares no end token; every answer will run to max_new_tokens", where)
    pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(eos_ids, default=0)
    # `generate` reads whatever it is not given from here, and the published sampling settings (temperature, penalties, …) must
    # not override the configured ones.
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=sorted(eos_ids) or None, pad_token_id=pad_id)
    max_length = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return LoadedModel(model.eval(), tokenizer, max_length, eos_ids, pad_id)


def resolve_dtype(setting: str) -> torch.dtype:
    """Return the dtype of a setting; `auto` is bfloat16 if the hardware computes in it, else float16 (CUDA) or float32 (CPU)."""
    if setting != "auto":
        return getattr(torch, setting)
    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    capabilities = torch.cpu.get_capabilities()
    return torch.bfloat16 if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else torch.float32
