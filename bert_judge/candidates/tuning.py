"""Fine-tune a causal language model on prompts with completions, of which only the completions have a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import SafetensorError
from torch.utils.data import Subset
from transformers import Trainer

from bert_judge.candidates.generators.hf import LoadedModel
from bert_judge.config import Tuning
from bert_judge.encoder.trainer import batch_order, run_trainer, training_arguments
from bert_judge.runtime.errors import InputError

# Label without loss in PyTorch's cross-entropy.
IGNORE_INDEX = -100


@dataclass(frozen=True)
class Example:
    """A prompt, read without loss, and its completion with the end token, both in tokens."""

    prompt: list[int]
    completion: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.completion)


def tune(
    loaded: LoadedModel, examples: Sequence[Example], settings: Tuning, work_folder: str | Path
) -> tuple[Any, dict[str, float]]:
    """Train a model on examples, resuming from the work folder; return it, adapter included, and metrics of the run."""
    order = batch_order([len(example) for example in examples], settings)
    model = _trainable(loaded.model, settings)
    trainer = Trainer(
        model=model,
        args=training_arguments(
            settings,
            Path(work_folder),
            steps=math.ceil(len(order) / settings.batch_size),
            weight_decay=settings.weight_decay,
            lr_scheduler_type=settings.schedule,
            **({"gradient_checkpointing": True} if settings.gradient_checkpointing else {}),
        ),
        train_dataset=Subset(cast(Any, examples), order),
        data_collator=partial(collate, pad_id=loaded.pad_id),
    )
    metrics = run_trainer(trainer, sum(len(examples[index]) for index in order), Path(work_folder))
    return model, metrics


def _trainable(model: Any, settings: Tuning) -> Any:
    model.config.use_cache = False
    if settings.method == "full":
        # Small updates are lost in half precision.
        return model.float()
    if settings.gradient_checkpointing:
        # Otherwise nothing below the first low-rank matrices would receive a gradient.
        model.enable_input_require_grads()
    torch.manual_seed(settings.seed)
    lora = settings.lora
    return get_peft_model(
        model,
        LoraConfig(
            r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )


def merge_adapter(model: Any, dtype: torch.dtype) -> Any:
    """Merge an adapter, if there is one, in float32, so that small updates are not rounded away one by one; return the model."""
    merged = model.float().merge_and_unload() if isinstance(model, PeftModel) else model
    merged.config.use_cache = True
    return merged.to(dtype).eval()


def load_adapter(model: Any, folder: Path) -> Any:
    """Merge the adapter of a folder into a model. Raises InputError: it belongs to another model, or is broken."""
    try:
        return merge_adapter(PeftModel.from_pretrained(model, str(folder)), model.dtype)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not an adapter of its base model: {' '.join(str(error).split())[:300]}") from error


def collate(batch: Sequence[Example], pad_id: int) -> dict[str, Any]:
    """Pad on the right, and compute the logits from the end of the shortest prompt on: `labels` covers these only.

    Padding on the left would leave tokens that attend to nothing, and of these some kernels for GPUs return gradients that are
    not finite: on an H100, three trainings of SmolLM2 in bfloat16 ended after 50 to 300 steps.
    """
    width, shortest = max(map(len, batch)), min(len(example.prompt) for example in batch)
    ids = torch.full((len(batch), width), pad_id)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, IGNORE_INDEX)
    for row, example in enumerate(batch):
        ids[row, : len(example)] = torch.tensor(example.prompt + example.completion)
        mask[row, : len(example)] = 1
        labels[row, len(example.prompt) : len(example)] = torch.tensor(example.completion)
    # The logits of a token predict the next one.
    kept = width - shortest + 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels[:, -kept:], "logits_to_keep": kept}
