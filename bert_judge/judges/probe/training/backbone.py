"""A probe's backbone with a new head, to be fitted with all its weights or with low-rank matrices beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers.pytorch_utils import Conv1D

from bert_judge.assets import pretrained
from bert_judge.judges.bert.trainer import initialize_head, is_head_parameter, set_dropout
from bert_judge.judges.probe.config import BaselineTraining
from bert_judge.runtime.errors import InputError

# In a few hundred rows all is learnt by heart without it; never in attention, where it keeps off the fast path.
DROPOUT = 0.1


def loaded(folder: Path, logits: int, seed: int) -> tuple[Any, Any]:
    """The backbone with a new head of so many logits, in float32, and its tokenizer."""
    try:
        tokenizer = pretrained.load_tokenizer(folder)
        model: Any = pretrained.load_classifier(folder, logits, new_head=True)
    except InputError as error:
        raise InputError(f"{error}; or leave fine_tuned and lora out of baselines") from error
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (tokenizer.eos_token_id or 0)
    # A language model finds the last token of a row by it.
    model.config.pad_token_id = pad
    model.config.use_cache = False
    initialize_head(model, seed)
    set_dropout(model, DROPOUT)
    return model, tokenizer


def adapted(model: Any, settings: BaselineTraining) -> Any:
    """Low-rank matrices beside every linear layer of the backbone; the head is learnt whole."""
    matrices = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D) and not is_head_parameter(model, name)
    ]
    others = {name: child for name, child in model.named_children() if name != model.base_model_prefix}
    above = [name for name, child in others.items() if next(child.parameters(), None) is not None]
    above += ["pooler"] if any(name.endswith("pooler") for name, _ in model.named_modules()) else []
    lora = settings.lora
    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=matrices,
        modules_to_save=above,
        task_type="SEQ_CLS",
    )
    return get_peft_model(model, config)
