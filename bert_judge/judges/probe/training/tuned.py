"""The backbone itself as a classifier of aspects, with all its weights fitted or low-rank matrices beside them.

It reads what the probe reads. All aspects share the backbone and have a head each, every class counts alike, and the moment of the
training that is kept is chosen by the macro-F1 on questions held out of the training rows: so a head that falls into one class is
not what is kept. The Trainer saves its progress; a killed run goes on.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer

from bert_judge.config import Training
from bert_judge.judges.bert.attention import float32_attention
from bert_judge.judges.bert.callbacks import SaveOnSigterm, StopIfDiverged, ThroughputCallback
from bert_judge.judges.bert.checkpoint import max_input_length
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import batch_by_tokens, collate
from bert_judge.judges.bert.trainer import batch_order, find_last_checkpoint, parameter_groups, training_arguments
from bert_judge.judges.probe.config import BaselineTraining
from bert_judge.judges.probe.extraction import BATCH_TOKENS
from bert_judge.judges.probe.prompts import PromptEncoder
from bert_judge.judges.probe.training.aspect_heads import AspectHeads
from bert_judge.judges.probe.training.backbone import adapted, loaded
from bert_judge.judges.probe.training.classifiers import folds
from bert_judge.judges.probe.training.labels import Known
from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.hardware import best_device, best_dtype

log = logging.getLogger(__name__)
Targets = tuple[Sequence[EncodedRow], np.ndarray]


def tell(
    folder: Path, spec: Mapping[str, Any], rows: pd.DataFrame, aspects: Mapping[str, Known], settings: BaselineTraining, work: Path
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Fit the backbone and have it tell the test rows.

    Args:
        folder: of the backbone.
        spec: `Plan.baseline_spec`.
        rows: of the dataset.
        aspects: what is known of each.
        settings: how it is fitted.
        work: keeps the progress.

    Returns:
        Aspect → the class of each of its test rows; and how the classifier came about, for metrics.json.

    Raises:
        InputError: the folder holds no model that can be fitted, or there are too few questions to hold some out.
    """
    heads = AspectHeads({name: np.unique(found.classes[found.learn]) for name, found in aspects.items()})
    targets = heads.targets({name: (found.learn, found.classes) for name, found in aspects.items()}, len(rows))
    learn, held_out = _parted(aspects, settings)
    model, tokenizer = loaded(folder, heads.width, settings.seed)
    encoder = PromptEncoder(tokenizer, spec["prompt"], min(spec["max_length"], max_input_length(model)))
    prompts = encoder.encode(rows["question"].tolist(), rows["candidate"].tolist())
    schedule = _schedule(settings, spec["baseline"])
    model = adapted(model, settings) if spec["baseline"] == "lora" else model
    parts = [([prompts[row] for row in part], targets[part]) for part in (learn, held_out)]
    figures = _fit(model, heads, parts[0], parts[1], schedule, settings.num_evals, work)
    told = {}
    for name, found in aspects.items():
        told[name] = heads.told(_logits(model, [prompts[row] for row in found.test], heads.width))[name]
    classes = {name: np.unique(said).tolist() for name, said in told.items()}
    for name in (name for name, said in classes.items() if len(said) == 1):
        log.warning("%s: of %s it tells the class %s only", spec["baseline"], name, classes[name][0])
    return told, {"rows": len(learn), "held_out_rows": len(held_out), **figures, "predicted_classes": classes}


def _parted(aspects: Mapping[str, Known], settings: BaselineTraining) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows that are learnt from, and of those on which the best moment is chosen: other questions."""
    first = next(iter(aspects.values()))
    rows = np.unique(np.concatenate([found.learn for found in aspects.values()]))
    if settings.rows is not None and len(rows) > settings.rows:
        order = np.random.default_rng(settings.seed).permutation(np.unique(first.groups[rows])).tolist()
        place = {question: number for number, question in enumerate(order)}
        rows = np.sort(sorted(rows, key=lambda row: place[first.groups[row]])[: settings.rows])
    found = folds(first.classes[rows], first.groups[rows], max(2, round(1 / settings.validation_fraction)), settings.seed)
    if not found:
        raise InputError(
            f"baseline_training.validation_fraction: {len(rows)} rows have too few questions to hold some out; add questions"
        )
    learn, held_out = found[0]
    return rows[learn], rows[held_out]


def _schedule(settings: BaselineTraining, baseline: str) -> Training:
    """The settings as the fitting of encoders has them."""
    shared = settings.model_dump(include={"epochs", "warmup_ratio", "batch_size", "micro_batch_size", "weight_decay", "seed"})
    if baseline == "lora":
        return Training(**shared, learning_rate=settings.lora_learning_rate, head_lr_multiplier=1.0)
    return Training(**shared, learning_rate=settings.learning_rate, head_lr_multiplier=settings.head_lr_multiplier)


def _fit(
    model: Any, heads: AspectHeads, learn: Targets, held_out: Targets, schedule: Training, num_evals: int, work: Path
) -> dict[str, Any]:
    """Train a classifier in place and leave it as it was at its best moment."""
    lengths = [len(row.ids) for row in learn[0]]
    order = batch_order(lengths, schedule)
    steps = math.ceil(len(order) / schedule.batch_size)
    every = math.ceil(steps / num_evals)
    throughput = ThroughputCallback(model, sum(lengths[place] for place in order), best_dtype(best_device()))
    more = {
        "eval_strategy": "steps",
        "eval_steps": every,
        "save_steps": every,
        "per_device_eval_batch_size": schedule.micro_batch_size or schedule.batch_size,
        "load_best_model_at_end": True,
        "metric_for_best_model": "macro_f1",
        "greater_is_better": True,
        "label_names": ["labels"],
    }
    by_length = sorted(range(len(held_out[0])), key=lambda place: len(held_out[0][place].ids))
    trainer = _AspectTrainer(
        schedule,
        heads,
        heads.weights(learn[1]),
        model=model,
        args=training_arguments(schedule, work, steps, **more),
        train_dataset=_Rows(learn, order),
        eval_dataset=_Rows(held_out, by_length),
        data_collator=lambda batch: _collate(batch, model.config),
        compute_metrics=lambda found: {"macro_f1": heads.macro_f1(np.asarray(found.predictions), np.asarray(found.label_ids))},
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
        "num_evals": steps // every,
        "best_step": state.best_global_step,
        "held_out_f1": state.best_metric,
        "seconds": throughput.summary(state)["seconds"],
    }


@torch.inference_mode()
def _logits(model: Any, prompts: Sequence[EncodedRow], width: int) -> np.ndarray:
    """float32, shape (prompts, width)."""
    found = np.zeros((len(prompts), width), np.float32)
    device = next(model.parameters()).device
    for batch in batch_by_tokens([len(prompt.ids) for prompt in prompts], BATCH_TOKENS[device.type]):
        tensors = collate([prompts[place] for place in batch], model.config.pad_token_id, model.config)
        found[batch] = model(**{name: tensor.to(device) for name, tensor in tensors.items()}).logits.float().cpu().numpy()
    return found


class _Rows(Dataset[dict[str, Any]]):
    """Encoded rows and their targets in a given order."""

    def __init__(self, rows: Targets, order: Sequence[int]) -> None:
        self.rows, self.order = rows, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, position: int) -> dict[str, Any]:
        place = self.order[position]
        return {"row": self.rows[0][place], "target": self.rows[1][place]}


def _collate(batch: Sequence[Mapping[str, Any]], config: Any) -> dict[str, torch.Tensor]:
    tensors = collate([item["row"] for item in batch], config.pad_token_id, config)
    return {**tensors, "labels": torch.from_numpy(np.stack([item["target"] for item in batch]))}


class _AspectTrainer(Trainer):
    """The loss of all aspects' heads, and a faster head where the schedule wants one."""

    def __init__(self, schedule: Training, heads: AspectHeads, weights: Sequence[torch.Tensor], **options: Any) -> None:
        self.schedule, self.heads, self.weights = schedule, heads, weights
        super().__init__(**options)
        # `compute_loss` gives the mean over its rows, so the Trainer divides it by the parts of a step.
        self.model_accepts_loss_kwargs = False

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            groups = parameter_groups(self.model, self.schedule)  # type: ignore[arg-type]
            self.optimizer = torch.optim.AdamW(groups, fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        targets = inputs.pop("labels")
        logits = model(**inputs).logits.float()
        loss = self.heads.loss(logits, targets, self.weights)
        return (loss, {"logits": logits}) if return_outputs else loss
