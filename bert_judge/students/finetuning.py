"""Fine-tuning of a causal language model with transformers' Trainer, resumable from the last checkpoint.

A training example consists of token ids: those of a prompt, as in generation, and those of the completion to learn.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Subset
from transformers import PreTrainedModel, PrinterCallback, Trainer

from bert_judge.candidates.generators.hf import LoadedModel
from bert_judge.candidates.generators.tokenization import ENCODING_ERRORS, PromptEncoder
from bert_judge.config import Tuning
from bert_judge.judges.bert.attention import float32_attention
from bert_judge.judges.bert.callbacks import SaveOnSigterm, StopIfDiverged, ThroughputCallback
from bert_judge.judges.bert.trainer import batch_order, find_last_checkpoint, training_arguments
from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Label without loss in PyTorch's cross-entropy.
IGNORE_INDEX = -100


@dataclass(frozen=True)
class Example:
    """A prompt, read without loss, and its completion with the end token, both in tokens."""

    prompt: list[int]
    completion: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.completion)


def encode_examples(
    encoder: PromptEncoder, eos_ids: frozenset[int], pairs: Iterable[tuple[str, str]], max_length: int
) -> tuple[list[Example], int]:
    """Encode prompts with their answers; return the examples that fit into the model's context, and the number left out.

    Args:
        max_length: prompt and completion together, in tokens.

    Raises:
        InputError: none is left.
    """
    examples: list[Example] = []
    left_out = 0
    for prompt, answer in pairs:
        try:
            example = encode_dialogue(encoder, eos_ids, prompt, answer)
        except ENCODING_ERRORS as error:
            log.warning("%.60s… cannot be encoded: %s", answer, " ".join(str(error).split()))
            left_out += 1
            continue
        if len(example) <= max_length:
            examples.append(example)
        else:
            left_out += 1
    total = len(examples) + left_out
    if left_out:
        log.warning("%d of %d texts are left out: prompt and completion exceed %d tokens", left_out, total, max_length)
    if not examples:
        raise InputError(f"max_length: none of {total} texts fits into {max_length} tokens; raise it, or filter other answers")
    return examples, left_out


def encode_dialogue(encoder: PromptEncoder, eos_ids: frozenset[int], prompt: str, answer: str) -> Example:
    """Encode a prompt with its answer as the chat template writes them; without a template, the plain texts.

    The prompt has the same tokens as in generation. Text that the template puts between prompt and answer, such as an empty
    reasoning block, belongs to the completion: the model has to generate it.
    """
    prompt_ids, _ = encoder.encode(prompt)
    ids = encoder.tokenize(_rendered_answer(encoder, prompt, answer))
    # After the end token, the template prepares another turn.
    end = next((position for position, token in enumerate(ids) if token in eos_ids), None)
    if end is not None:
        return Example(prompt_ids, ids[: end + 1])
    eos_id = encoder.tokenizer.eos_token_id if encoder.tokenizer.eos_token_id is not None else min(eos_ids, default=None)
    return Example(prompt_ids, [*ids, *([] if eos_id is None else [eos_id])])


def _rendered_answer(encoder: PromptEncoder, prompt: str, answer: str) -> str:
    if encoder.template is None:
        # A completion of a plain prompt starts on a new line.
        return f"\n{answer}"
    start, rendered = encoder.render(prompt), encoder.render(prompt, answer)
    # Some templates render a finished turn differently from one that begins.
    return rendered.removeprefix(start) if rendered.startswith(start) else answer


def tune(
    loaded: LoadedModel, examples: Sequence[Example], settings: Tuning, work_folder: str | Path
) -> tuple[Any, dict[str, float]]:
    """Train a model on examples, resuming from the work folder; return it in its dtype, LoRA weights merged, and metrics of the
    run."""
    order = batch_order([len(example) for example in examples], settings)
    dtype = next(loaded.model.parameters()).dtype
    model = _trainable(loaded.model, settings)
    throughput = ThroughputCallback(sum(len(examples[index]) for index in order))
    trainer = Trainer(
        model=model,
        args=training_arguments(
            settings,
            Path(work_folder),
            steps=math.ceil(len(order) / settings.batch_size),
            weight_decay=settings.weight_decay,
            **({"gradient_checkpointing": True} if settings.gradient_checkpointing else {}),
        ),
        train_dataset=Subset(cast(Any, examples), order),
        data_collator=partial(_collate, pad_id=loaded.pad_id),
        callbacks=[throughput, SaveOnSigterm(), StopIfDiverged()],
    )
    trainer.remove_callback(PrinterCallback)
    with sigterm.defer_sigterm(), float32_attention(cast(PreTrainedModel, trainer.model)):
        result = trainer.train(resume_from_checkpoint=find_last_checkpoint(Path(work_folder)))
        if trainer.state.global_step < trainer.state.max_steps:
            sigterm.stop(f"{trainer.state.global_step} of {trainer.state.max_steps} steps, which are saved")
    metrics = {"steps": trainer.state.global_step, **throughput.summary(trainer.state), "loss": result.training_loss}
    return _merge(model, settings, dtype), metrics


def _trainable(model: Any, settings: Tuning) -> Any:
    """Prepare all weights for training, or add low-rank matrices to frozen ones."""
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


def _merge(model: Any, settings: Tuning, dtype: torch.dtype) -> Any:
    """Merge LoRA weights, in float32, so that small updates are not rounded away one by one."""
    merged = model.float().merge_and_unload() if settings.method == "lora" else model
    merged.config.use_cache = True
    return merged.to(dtype).eval()


def _collate(batch: Sequence[Example], pad_id: int) -> dict[str, torch.Tensor]:
    width = max(map(len, batch))
    ids = torch.full((len(batch), width), pad_id)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, IGNORE_INDEX)
    for row, example in enumerate(batch):
        ids[row, : len(example)] = torch.tensor(example.prompt + example.completion)
        mask[row, : len(example)] = 1
        labels[row, len(example.prompt) : len(example)] = torch.tensor(example.completion)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
