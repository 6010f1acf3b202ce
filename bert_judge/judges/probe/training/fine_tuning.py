"""The backbone fine-tuned as a classifier of aspects, with all its weights or with LoRA.

It reads the same prompts as the probe. All aspects share the backbone and have a head each, with balanced class weights. The best
checkpoint is selected by macro-F1 on held-out questions, so that a head that predicts a single class is not selected. The Trainer
saves checkpoints, from which a killed run resumes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer
from transformers.pytorch_utils import Conv1D

from bert_judge.assets import pretrained
from bert_judge.config import Training
from bert_judge.judges.bert.attention import float32_attention
from bert_judge.judges.bert.callbacks import SaveOnSigterm, StopIfDiverged, ThroughputCallback
from bert_judge.judges.bert.checkpoint import max_input_length
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import batch_by_tokens, collate
from bert_judge.judges.bert.trainer import (
    batch_order,
    find_last_checkpoint,
    initialize_head,
    is_head_parameter,
    parameter_groups,
    set_dropout,
    training_arguments,
)
from bert_judge.judges.probe.config import BaselineTraining
from bert_judge.judges.probe.hidden_states import BATCH_TOKENS, PromptEncoder
from bert_judge.judges.probe.training.fit import make_folds
from bert_judge.judges.probe.training.labels import AspectLabels
from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.hardware import best_device, best_dtype
from bert_judge.runtime.metrics import macro_f1

log = logging.getLogger(__name__)
# Encoded rows and their targets, shape (rows, aspects).
LabelledRows = tuple[Sequence[EncodedRow], np.ndarray]
# Target of a row without a label of an aspect; the default of PyTorch's cross-entropy.
IGNORED = -100
# Without dropout a few hundred rows are memorised. Attention dropout would prevent the fast attention kernels.
DROPOUT = 0.1


def predict(
    folder: Path,
    spec: Mapping[str, Any],
    rows: pd.DataFrame,
    labels: Mapping[str, AspectLabels],
    settings: BaselineTraining,
    work: Path,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Fine-tune the backbone, and predict the test rows.

    Args:
        folder: of the backbone.
        spec: `Plan.baseline_spec`.
        rows: of the dataset.
        labels: by aspect.
        work: folder of the checkpoints.

    Returns:
        Aspect → class of each of its test rows, and details of the training for metrics.json.

    Raises:
        InputError: the folder holds no model that can be fine-tuned, or there are too few questions to hold some out.
    """
    heads = AspectHeads({name: np.unique(aspect.classes[aspect.train]) for name, aspect in labels.items()})
    targets = heads.targets({name: (aspect.train, aspect.classes) for name, aspect in labels.items()}, len(rows))
    train, held_out = _split(labels, settings)
    model, tokenizer = _load(folder, heads.num_logits, settings.seed)
    encoder = PromptEncoder(tokenizer, spec["prompt"], min(spec["max_length"], max_input_length(model)))
    prompts = encoder.encode(rows["question"].tolist(), rows["candidate"].tolist())
    training = _training_settings(settings, spec["baseline"])
    model = with_lora(model, settings) if spec["baseline"] == "lora" else model
    train_rows, held_out_rows = (([prompts[row] for row in subset], targets[subset]) for subset in (train, held_out))
    details = _fit(model, heads, train_rows, held_out_rows, training, settings.num_evals, work)
    predictions = {}
    for name, aspect in labels.items():
        logits = _compute_logits(model, [prompts[row] for row in aspect.test], heads.num_logits)
        predictions[name] = heads.predict(logits)[name]
    classes = {name: np.unique(predicted).tolist() for name, predicted in predictions.items()}
    for name in (name for name, predicted in classes.items() if len(predicted) == 1):
        log.warning("%s: predicts class %s only for %s", spec["baseline"], classes[name][0], name)
    return predictions, {"rows": len(train), "held_out_rows": len(held_out), **details, "predicted_classes": classes}


@dataclass(frozen=True)
class AspectHeads:
    """Ranges of the logits of a model, one per aspect.

    Attributes:
        classes: aspect → its classes in the training rows, ascending; one logit each.
    """

    classes: Mapping[str, np.ndarray]

    @property
    def num_logits(self) -> int:
        return sum(map(len, self.classes.values()))

    @cached_property
    def ranges(self) -> dict[str, slice]:
        """Return aspect → slice of its logits."""
        ends = np.cumsum([len(classes) for classes in self.classes.values()]).tolist()
        return {name: slice(end - len(self.classes[name]), end) for name, end in zip(self.classes, ends, strict=True)}

    def targets(self, labels: Mapping[str, tuple[np.ndarray, np.ndarray]], num_rows: int) -> np.ndarray:
        """Compute training targets.

        Args:
            labels: aspect → indices of its training rows, and the classes of all rows.

        Returns:
            Shape (num_rows, aspects): index of the class among the aspect's classes, or `IGNORED`.
        """
        targets = np.full((num_rows, len(self.classes)), IGNORED)
        for column, (name, classes) in enumerate(self.classes.items()):
            indices, row_classes = labels[name]
            targets[indices, column] = np.searchsorted(classes, row_classes[indices])
        return targets

    def class_weights(self, targets: np.ndarray) -> list[torch.Tensor]:
        """Compute balanced class weights per aspect, with mean 1 over the rows."""
        weights = []
        for column, classes in enumerate(self.classes.values()):
            counts = np.bincount(targets[targets[:, column] != IGNORED, column], minlength=len(classes))
            balanced = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
            weights.append(torch.tensor(np.where(counts, balanced, 0.0), dtype=torch.float32))
        return weights

    def loss(self, logits: torch.Tensor, targets: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """Average the weighted cross-entropy over the labelled rows of each aspect, then over the aspects."""
        losses = []
        for column, (logit_range, weight) in enumerate(zip(self.ranges.values(), weights, strict=True)):
            target = targets[:, column]
            total = cross_entropy(logits[:, logit_range], target, weight.to(logits.device), ignore_index=IGNORED, reduction="sum")
            losses.append(total / (target != IGNORED).sum().clamp(min=1))
        return torch.stack(losses).mean()

    def macro_f1(self, logits: np.ndarray, targets: np.ndarray) -> float:
        """Average the macro-F1 of the labelled rows over the aspects."""
        scores = []
        for column, logit_range in enumerate(self.ranges.values()):
            labelled = targets[:, column] != IGNORED
            if labelled.any():
                scores.append(macro_f1(targets[labelled, column], logits[labelled, logit_range].argmax(1)))
        return float(np.mean(scores))

    def predict(self, logits: np.ndarray) -> dict[str, np.ndarray]:
        """Return aspect → class with the highest logit of each row."""
        return {name: self.classes[name][logits[:, logit_range].argmax(1)] for name, logit_range in self.ranges.items()}


def _load(folder: Path, num_logits: int, seed: int) -> tuple[Any, Any]:
    """Load the backbone with a new head, in float32, and its tokenizer."""
    try:
        tokenizer = pretrained.load_tokenizer(folder)
        model: Any = pretrained.load_classifier(folder, num_logits, new_head=True)
    except InputError as error:
        raise InputError(f"{error}; or remove fine_tuned and lora from baselines") from error
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else (tokenizer.eos_token_id or 0)
    # The head of a language model uses it to find the last token.
    model.config.pad_token_id = pad
    model.config.use_cache = False
    initialize_head(model, seed)
    set_dropout(model, DROPOUT)
    return model, tokenizer


def with_lora(model: Any, settings: BaselineTraining) -> Any:
    """Add LoRA matrices to every linear layer of the backbone; the head is trained fully."""
    linear_layers = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D) and not is_head_parameter(model, name)
    ]
    other_modules = {name: child for name, child in model.named_children() if name != model.base_model_prefix}
    head_modules = [name for name, child in other_modules.items() if next(child.parameters(), None) is not None]
    head_modules += ["pooler"] if any(name.endswith("pooler") for name, _ in model.named_modules()) else []
    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.lora.rank,
        lora_alpha=settings.lora.alpha,
        lora_dropout=settings.lora.dropout,
        target_modules=linear_layers,
        modules_to_save=head_modules,
        task_type="SEQ_CLS",
    )
    return get_peft_model(model, config)


def _split(labels: Mapping[str, AspectLabels], settings: BaselineTraining) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of the rows to train on and of those to select the checkpoint on, with different questions."""
    first = next(iter(labels.values()))
    rows = np.unique(np.concatenate([aspect.train for aspect in labels.values()]))
    if settings.rows is not None and len(rows) > settings.rows:
        order = np.random.default_rng(settings.seed).permutation(np.unique(first.questions[rows])).tolist()
        rank = {question: number for number, question in enumerate(order)}
        rows = np.sort(sorted(rows, key=lambda row: rank[first.questions[row]])[: settings.rows])
    splits = make_folds(first.classes[rows], first.questions[rows], max(2, round(1 / settings.validation_fraction)), settings.seed)
    if not splits:
        raise InputError(
            f"baseline_training.validation_fraction: {len(rows)} rows have too few questions to hold some out; add questions"
        )
    train, held_out = splits[0]
    return rows[train], rows[held_out]


def _training_settings(settings: BaselineTraining, baseline: str) -> Training:
    shared = settings.model_dump(include={"epochs", "warmup_ratio", "batch_size", "micro_batch_size", "weight_decay", "seed"})
    if baseline == "lora":
        return Training(**shared, learning_rate=settings.lora_learning_rate, head_lr_multiplier=1.0)
    return Training(**shared, learning_rate=settings.learning_rate, head_lr_multiplier=settings.head_lr_multiplier)


def _fit(
    model: Any, heads: AspectHeads, train: LabelledRows, held_out: LabelledRows, training: Training, num_evals: int, work: Path
) -> dict[str, Any]:
    """Train a classifier in place and restore its best checkpoint; return details of the training."""
    lengths = [len(row.ids) for row in train[0]]
    order = batch_order(lengths, training)
    steps = math.ceil(len(order) / training.batch_size)
    eval_steps = math.ceil(steps / num_evals)
    throughput = ThroughputCallback(model, sum(lengths[index] for index in order), best_dtype(best_device()))
    evaluation = {
        "eval_strategy": "steps",
        "eval_steps": eval_steps,
        "save_steps": eval_steps,
        "per_device_eval_batch_size": training.micro_batch_size or training.batch_size,
        "load_best_model_at_end": True,
        "metric_for_best_model": "macro_f1",
        "greater_is_better": True,
        "label_names": ["labels"],
    }
    by_length = sorted(range(len(held_out[0])), key=lambda index: len(held_out[0][index].ids))
    trainer = _AspectTrainer(
        training,
        heads,
        heads.class_weights(train[1]),
        model=model,
        args=training_arguments(training, work, steps, **evaluation),
        train_dataset=_AspectDataset(train, order),
        eval_dataset=_AspectDataset(held_out, by_length),
        data_collator=lambda batch: _collate(batch, model.config),
        compute_metrics=lambda output: {"macro_f1": heads.macro_f1(np.asarray(output.predictions), np.asarray(output.label_ids))},
        callbacks=[throughput, SaveOnSigterm(), StopIfDiverged()],
    )
    trainer.remove_callback(PrinterCallback)
    with sigterm.defer_sigterm(), float32_attention(model):
        trainer.train(resume_from_checkpoint=find_last_checkpoint(work))
        state = trainer.state
        if state.global_step < state.max_steps:
            sigterm.stop(f"{state.global_step} of {state.max_steps} steps, which are saved")
    model.eval()
    return {
        "weights": sum(weights.numel() for weights in model.parameters() if weights.requires_grad),
        "steps": state.max_steps,
        "num_evals": steps // eval_steps,
        "best_step": state.best_global_step,
        "held_out_f1": state.best_metric,
        "seconds": throughput.summary(state)["seconds"],
    }


@torch.inference_mode()
def _compute_logits(model: Any, prompts: Sequence[EncodedRow], num_logits: int) -> np.ndarray:
    """float32, shape (prompts, num_logits)."""
    logits = np.zeros((len(prompts), num_logits), np.float32)
    device = next(model.parameters()).device
    for batch in batch_by_tokens([len(prompt.ids) for prompt in prompts], BATCH_TOKENS[device.type]):
        tensors = collate([prompts[index] for index in batch], model.config.pad_token_id, model.config)
        logits[batch] = model(**{name: tensor.to(device) for name, tensor in tensors.items()}).logits.float().cpu().numpy()
    return logits


class _AspectDataset(Dataset[dict[str, Any]]):
    """Encoded rows and their targets in a given order."""

    def __init__(self, rows: LabelledRows, order: Sequence[int]) -> None:
        self.rows, self.order = rows, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, position: int) -> dict[str, Any]:
        index = self.order[position]
        return {"row": self.rows[0][index], "target": self.rows[1][index]}


def _collate(batch: Sequence[Mapping[str, Any]], config: Any) -> dict[str, torch.Tensor]:
    tensors = collate([item["row"] for item in batch], config.pad_token_id, config)
    return {**tensors, "labels": torch.from_numpy(np.stack([item["target"] for item in batch]))}


class _AspectTrainer(Trainer):
    """A trainer with the loss of all aspect heads and a separate learning rate for the heads."""

    def __init__(self, training: Training, heads: AspectHeads, weights: Sequence[torch.Tensor], **options: Any) -> None:
        self.training, self.heads, self.weights = training, heads, weights
        super().__init__(**options)
        # `compute_loss` returns a mean over its rows, so the Trainer must divide it by the number of accumulation steps.
        self.model_accepts_loss_kwargs = False

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            groups = parameter_groups(self.model, self.training)  # type: ignore[arg-type]
            self.optimizer = torch.optim.AdamW(groups, fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        targets = inputs.pop("labels")
        logits = model(**inputs).logits.float()
        loss = self.heads.loss(logits, targets, self.weights)
        return (loss, {"logits": logits}) if return_outputs else loss
