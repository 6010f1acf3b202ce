"""Fitting a causal language model to texts with transformers' Trainer, so that a killed run goes on from its last checkpoint."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import PreTrainedModel, PrinterCallback, Trainer

from bert_judge.candidates.finetuning.examples import Example
from bert_judge.candidates.finetuning.launch import launched, processes
from bert_judge.candidates.generators.hf_model import LoadedModel
from bert_judge.config import Tuning
from bert_judge.judges.bert.attention import float32_attention
from bert_judge.judges.bert.callbacks import SaveOnSigterm, StopIfDiverged, ThroughputCallback
from bert_judge.judges.bert.trainer import batch_order, find_last_checkpoint, training_arguments
from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.hardware import best_device, best_dtype

log = logging.getLogger(__name__)

# The label of a token from which nothing is learnt, in PyTorch's cross-entropy.
IGNORED = -100


def tune(
    loaded: LoadedModel, examples: Sequence[Example], settings: Tuning, work_folder: str | Path
) -> tuple[Any | None, dict[str, float]]:
    """Fit a model to answers; the loss is the mean over the tokens of answers, never of prompts.

    Of several processes that were launched together each computes its part of every step.

    Args:
        loaded: its model is changed.
        examples: what to learn.
        settings: how.
        work_folder: keeps the run's progress; a run that finds progress there goes on from it.

    Returns:
        The model with what it learnt merged into its weights, in the number format in which it came, and figures of the run. None
        for the model in all processes but the first.

    Raises:
        InputError: a step's rows cannot be shared out among the processes.
    """
    work_folder, together = Path(work_folder), processes()
    if settings.batch_size % ((settings.micro_batch_size or 1) * together):
        raise InputError(
            f"batch_size {settings.batch_size} must be a multiple of micro_batch_size times the {together} processes of accelerate"
        )
    order = batch_order([len(example) for example in examples], settings)
    steps = math.ceil(len(order) / settings.batch_size)
    dtype = next(loaded.model.parameters()).dtype
    blank = partial(_blank, type(loaded.model), loaded.model.config, loaded.model.generation_config, settings)
    model = _adapted(loaded.model, settings)
    at_once = settings.micro_batch_size or settings.batch_size // together
    more = {
        "per_device_train_batch_size": at_once,
        "gradient_accumulation_steps": settings.batch_size // (at_once * together),
        "weight_decay": settings.weight_decay,
        **({"gradient_checkpointing": True} if settings.gradient_checkpointing else {}),
    }
    # First of all: among several processes it gives each its device.
    told = training_arguments(settings, work_folder, steps, **more)
    throughput = ThroughputCallback(model, sum(len(examples[place]) for place in order), best_dtype(best_device()), together)
    trainer = Trainer(
        model=model,
        args=told,
        train_dataset=_Ordered(examples, order),
        data_collator=lambda batch: _collate(batch, loaded.pad_id),
        callbacks=[throughput, SaveOnSigterm(), StopIfDiverged()],
    )
    trainer.remove_callback(PrinterCallback)
    # One of several that stopped on its own would leave the others waiting for it.
    with sigterm.defer_sigterm() if together == 1 else nullcontext():
        loss = _trained(trainer, work_folder)
    figures = {"steps": trainer.state.global_step, **throughput.summary(trainer.state), "loss": loss}
    # Also a single process that was launched may hold its weights in FSDP's form, which is none to save.
    whole = _gathered(trainer, blank) if launched() else model
    return None if whole is None else _merged(whole, settings, dtype), figures


def _trained(trainer: Trainer, work_folder: Path) -> float:
    """Train to the end, from the last checkpoint on where there is one; the mean loss of what was done here.

    Raises:
        SystemExit: SIGTERM came; what was done is saved.
    """
    with trainer.args.main_process_first():
        checkpoint = find_last_checkpoint(work_folder)
    with float32_attention(cast(PreTrainedModel, trainer.model)):
        result = trainer.train(resume_from_checkpoint=checkpoint)
    if trainer.state.global_step < trainer.state.max_steps:
        sigterm.stop(f"{trainer.state.global_step} of {trainer.state.max_steps} steps, which are saved")
    return result.training_loss


def _adapted(model: Any, settings: Tuning) -> Any:
    """The model with what is learnt: all its weights, or low-rank matrices beside frozen ones."""
    model.config.use_cache = False
    if settings.method == "full":
        # Small steps are lost in half precision.
        return model.float()
    if settings.gradient_checkpointing:
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


def _blank(kind: type, config: Any, generation_config: Any, settings: Tuning) -> Any:
    """A model of the same shape as the one in training, on the CPU and with no weights worth keeping."""
    model = kind(config)
    model.generation_config = generation_config
    return _adapted(model, settings)


def _gathered(trainer: Trainer, blank: Callable[[], Any]) -> Any | None:
    """What several processes fitted, put together in the first of them, whichever way its weights were shared out."""
    weights = trainer.accelerator.get_state_dict(trainer.model_wrapped)
    if not trainer.is_world_process_zero():
        return None
    model = blank()
    model.load_state_dict(weights)
    return model


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
