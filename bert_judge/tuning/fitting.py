"""Fitting a causal language model to texts with transformers' Trainer, so that a killed run goes on from its last checkpoint."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer

from bert_judge import stopping
from bert_judge.config import Tuning
from bert_judge.encoder.fitting import arguments, batch_order, last_checkpoint
from bert_judge.encoder.hardware import best_device, best_dtype
from bert_judge.encoder.progress import SaveBeforeTheEnd, Speed
from bert_judge.generators.hf_model import LoadedModel
from bert_judge.tuning.examples import Example

log = logging.getLogger(__name__)

# The label of a token from which nothing is learnt, in PyTorch's cross-entropy.
IGNORED = -100


def tune(
    loaded: LoadedModel, examples: Sequence[Example], settings: Tuning, work_folder: str | Path
) -> tuple[Any, dict[str, float]]:
    """Fit a model to answers; the loss is the mean over the tokens of answers, never of prompts.

    Args:
        loaded: its model is changed.
        examples: what to learn.
        settings: how.
        work_folder: keeps the run's progress; a run that finds progress there goes on from it.

    Returns:
        The model with what it learnt merged into its weights, in the number format in which it came, and figures of the run.
    """
    work_folder = Path(work_folder)
    order = batch_order([len(example) for example in examples], settings)
    steps = math.ceil(len(order) / settings.batch_size)
    dtype = next(loaded.model.parameters()).dtype
    model = _adapted(loaded.model, settings)
    speed = Speed(model, sum(len(examples[place]) for place in order), best_dtype(best_device()))
    more = {"weight_decay": settings.weight_decay, **({"gradient_checkpointing": True} if settings.save_memory else {})}
    trainer = Trainer(
        model=model,
        args=arguments(settings, work_folder, steps, **more),
        train_dataset=_Ordered(examples, order),
        data_collator=lambda batch: _collate(batch, loaded.pad),
        callbacks=[speed, SaveBeforeTheEnd()],
    )
    trainer.remove_callback(PrinterCallback)
    with stopping.sigterm_waits():
        result = trainer.train(resume_from_checkpoint=last_checkpoint(work_folder))
        if trainer.state.global_step < trainer.state.max_steps:
            stopping.stop(f"{trainer.state.global_step} of {trainer.state.max_steps} steps, which are saved")
    figures = {"steps": result.global_step, **speed.figures(trainer.state), "loss": result.training_loss}
    return _merged(model, settings, dtype), figures


def _adapted(model: Any, settings: Tuning) -> Any:
    """The model with what is learnt: all its weights, or low-rank matrices beside frozen ones."""
    model.config.use_cache = False
    if settings.method == "full":
        # Small steps are lost in half precision.
        return model.float()
    if settings.save_memory:
        # Otherwise nothing below the first matrices would have a gradient to pass on.
        model.enable_input_require_grads()
    torch.manual_seed(settings.seed)
    lora = settings.lora
    return get_peft_model(
        model,
        LoraConfig(
            r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )


def _merged(model: Any, settings: Tuning, dtype: torch.dtype) -> Any:
    """An ordinary model again. The sum is taken in float32, so that small changes are not rounded away one by one."""
    whole = model.float().merge_and_unload() if settings.method == "lora" else model
    whole.config.use_cache = True
    return whole.to(dtype).eval()


class _Ordered(Dataset[Example]):
    """The answers in the order of training."""

    def __init__(self, examples: Sequence[Example], order: Sequence[int]) -> None:
        self.examples, self.order = examples, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, position: int) -> Example:
        return self.examples[self.order[position]]


def _collate(batch: Sequence[Example], pad: int) -> dict[str, torch.Tensor]:
    """Rows filled up on the right, each with its own positions from 0 on; labels of answers only."""
    width = max(map(len, batch))
    ids = torch.full((len(batch), width), pad)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, IGNORED)
    for row, example in enumerate(batch):
        ids[row, : len(example)] = torch.tensor(example.prompt + example.answer)
        mask[row, : len(example)] = 1
        labels[row, len(example.prompt) : len(example)] = torch.tensor(example.answer)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
