"""Fitting an encoder to labels with transformers' Trainer, so that a killed run goes on from its last checkpoint.

The order of all batches over all epochs is laid down beforehand from the seed: rows of similar length share a batch, batches are
shuffled. So a run that was killed and resumed sees the same batches as one that was not.
"""

from __future__ import annotations

import json
import logging
import math
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import Dataset
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainingArguments

from bert_judge.config import Training
from bert_judge.judges.bert.attention import float32_attention
from bert_judge.judges.bert.callbacks import SaveOnSigterm, StopIfDiverged, ThroughputCallback
from bert_judge.judges.bert.checkpoint import Checkpoint
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import collate
from bert_judge.runtime import sigterm
from bert_judge.runtime.hardware import best_device, best_dtype

log = logging.getLogger(__name__)

# Batches are formed within this many batches' worth of shuffled rows: enough to sort by length, few enough to stay random.
BATCHES_PER_POOL = 50
CHECKPOINTS_PER_RUN = 10


class Schedule(Protocol):
    """How often rows are seen, how many at a time and how fast is learnt; see `config.Training`."""

    @property
    def epochs(self) -> float: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def micro_batch_size(self) -> int | None: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup_ratio(self) -> float: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Examples:
    """Encoded rows with their labels in [0, 1] and weights, each of length n.

    Attributes:
        against: for each row another one, whose logit is taken off: what is learnt is which of the two is better. None: rows alone.
    """

    rows: Sequence[EncodedRow]
    labels: Sequence[float]
    weights: Sequence[float]
    against: Sequence[EncodedRow] | None = None

    @property
    def tokens(self) -> list[int]:
        """Tokens of each example."""
        own = [len(row.ids) for row in self.rows]
        return own if self.against is None else [one + len(other.ids) for one, other in zip(own, self.against, strict=True)]


def fit(checkpoint: Checkpoint, examples: Examples, settings: Training, work_folder: str | Path) -> dict[str, float]:
    """Train the model of a checkpoint in place.

    Args:
        checkpoint: its model is changed and left in eval mode.
        examples: what to learn.
        settings: how.
        work_folder: keeps the run's progress; a run that finds progress there goes on from it.

    Returns:
        Figures of the run: steps, loss and those of `ThroughputCallback.figures`.
    """
    work_folder = Path(work_folder)
    tokens = examples.tokens
    order = batch_order(tokens, settings)
    model, config = checkpoint.model, checkpoint.model.config
    if not checkpoint.trained:
        initialize_head(model, settings.seed)
    set_dropout(model, settings.dropout)
    embeddings = model.get_input_embeddings()
    # New tokens have everything to learn; old ones are better left to what they mean in the whole language.
    embeddings.requires_grad_(checkpoint.metadata.input.format == "tags" or not settings.freeze_embeddings)
    pad_id = int(cast(int, checkpoint.tokenizer.pad_token_id))
    throughput = ThroughputCallback(model, sum(tokens[i] for i in order), best_dtype(best_device()))
    trainer = _WeightedTrainer(
        model=model,
        args=training_arguments(settings, work_folder, steps=math.ceil(len(order) / settings.batch_size)),
        train_dataset=_Ordered(examples, order),
        data_collator=lambda batch: _collate(batch, pad_id, config, settings.label_smoothing),
        settings=settings,
        callbacks=[throughput, SaveOnSigterm(), StopIfDiverged()],
    )
    trainer.remove_callback(PrinterCallback)
    with sigterm.defer_sigterm(), float32_attention(model):
        result = trainer.train(resume_from_checkpoint=find_last_checkpoint(work_folder))
        if trainer.state.global_step < trainer.state.max_steps:
            sigterm.stop(f"{trainer.state.global_step} of {trainer.state.max_steps} steps, which are saved")
    embeddings.requires_grad_(True)
    model.eval()
    return {"steps": result.global_step, **throughput.summary(trainer.state), "loss": result.training_loss}


def batch_order(lengths: Sequence[int], settings: Schedule) -> list[int]:
    """Positions of rows in the order of training, all epochs one after the other.

    Every epoch holds each row once (the last epoch may be a part). Runs of `batch_size` positions are similar in length.
    """
    shuffle = random.Random(settings.seed)
    stream: list[int] = []
    for _ in range(math.ceil(settings.epochs)):
        epoch = list(range(len(lengths)))
        shuffle.shuffle(epoch)
        stream += epoch
    stream = stream[: max(1, round(settings.epochs * len(lengths)))]
    order: list[int] = []
    for pool in _chunks(stream, settings.batch_size * BATCHES_PER_POOL):
        batches = _chunks(sorted(pool, key=lambda i: lengths[i]), settings.batch_size)
        shuffle.shuffle(batches)
        # Only the last pool may have a short batch; at its end it keeps the others aligned with the Trainer's steps.
        batches.sort(key=lambda batch: len(batch) < settings.batch_size)
        order += [position for batch in batches for position in batch]
    return order


def _chunks(items: list[int], size: int) -> list[list[int]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def find_last_checkpoint(folder: Path) -> str | None:
    """The newest whole checkpoint below a folder; half-written ones are removed.

    The Trainer writes `trainer_state.json` last.
    """
    whole: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        try:
            whole[json.loads((path / "trainer_state.json").read_text())["global_step"]] = path
        except (OSError, json.JSONDecodeError, KeyError):
            log.warning("%s: a checkpoint that was not finished; removed", path)
            shutil.rmtree(path)
    if not whole:
        return None
    step = max(whole)
    log.info("going on from step %d", step)
    return str(whole[step])


class _Ordered(Dataset[dict[str, Any]]):
    """The rows in the order of training."""

    def __init__(self, examples: Examples, order: Sequence[int]) -> None:
        self.examples, self.order = examples, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, position: int) -> dict[str, Any]:
        i = self.order[position]
        item = {"row": self.examples.rows[i], "label": self.examples.labels[i], "weight": self.examples.weights[i]}
        return item if self.examples.against is None else item | {"against": self.examples.against[i]}


def _collate(batch: Sequence[dict[str, Any]], pad_id: int, config: object, smoothing: float) -> dict[str, torch.Tensor]:
    # Those that are taken off come behind all others, so that the model reads both in one go.
    rows = [item["row"] for item in batch] + [item["against"] for item in batch if "against" in item]
    tensors = collate(rows, pad_id, config)
    labels = torch.tensor([item["label"] for item in batch], dtype=torch.float32)
    tensors["targets"] = labels * (1 - smoothing) + smoothing / 2
    tensors["weights"] = torch.tensor([item["weight"] for item in batch], dtype=torch.float32)
    return tensors


class _WeightedTrainer(Trainer):
    """Cross-entropy of the two logits against soft, weighted labels; a faster head. Of rows with others against them, the logits'
    difference stands in the place of the logit."""

    def __init__(self, settings: Training, **options: Any) -> None:
        self.settings = settings
        super().__init__(**options)
        # `compute_loss` gives the mean over its rows, so the Trainer divides it by the parts of a step.
        self.model_accepts_loss_kwargs = False

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(parameter_groups(cast(PreTrainedModel, self.model), self.settings), fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        targets, weights = inputs.pop("targets"), inputs.pop("weights")
        outputs = model(**inputs)
        logits = outputs.logits.float()
        # Two logits with softmax are one logit with sigmoid: only their difference counts.
        found = logits[:, 1] - logits[:, 0]
        if len(found) > len(targets):
            found = found[: len(targets)] - found[len(targets) :]
        losses = binary_cross_entropy_with_logits(found, targets, reduction="none")
        loss = (losses * weights).mean()
        return (loss, outputs) if return_outputs else loss


def training_arguments(settings: Schedule, folder: Path, steps: int, **more: Any) -> TrainingArguments:
    """What the Trainer is told: rows in their given order, once; checkpoints that a kill does not reach; no network, no bars.

    Args:
        folder: of the checkpoints.
        steps: of the whole run.
        more: arguments beside these, or in their place.
    """
    device = best_device()
    told: dict[str, Any] = {
        "num_train_epochs": 1,  # the order of the rows holds the epochs
        "train_sampling_strategy": "sequential",
        "per_device_train_batch_size": settings.micro_batch_size or settings.batch_size,
        "gradient_accumulation_steps": settings.batch_size // (settings.micro_batch_size or settings.batch_size),
        "learning_rate": settings.learning_rate,
        "warmup_steps": round(settings.warmup_ratio * steps),
        "lr_scheduler_type": "linear",
        "bf16": best_dtype(device) == torch.bfloat16,
        "use_cpu": device.type == "cpu",
        "seed": settings.seed,
        "logging_steps": max(1, steps // 50),
        "save_steps": max(10, math.ceil(steps / CHECKPOINTS_PER_RUN)),
        "save_total_limit": 2,
        "remove_unused_columns": False,
        "dataloader_pin_memory": device.type == "cuda",
        "disable_tqdm": True,
        "report_to": "none",
    }
    return TrainingArguments(output_dir=str(folder), **(told | more))


def parameter_groups(model: PreTrainedModel, settings: Training) -> list[dict[str, Any]]:
    """Parameters by learning rate and weight decay: head or encoder, matrices or vectors (which do not decay)."""
    groups: dict[tuple[bool, bool], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((is_head_parameter(model, name), parameter.ndim > 1), []).append(parameter)
    return [
        {
            "params": parameters,
            "lr": settings.learning_rate * (settings.head_lr_multiplier if head else 1),
            "weight_decay": settings.weight_decay if matrix else 0.0,
        }
        for (head, matrix), parameters in groups.items()
    ]


def initialize_head(model: PreTrainedModel, seed: int) -> None:
    """Start the layers above the encoder anew (LeCun normal): a backbone's own pooler was made for another purpose."""
    torch.manual_seed(seed)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and is_head_parameter(model, name):
            torch.nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def is_head_parameter(model: PreTrainedModel, name: str) -> bool:
    """Whether a module or parameter stands above the encoder."""
    return "pooler" in name or not name.startswith(f"{model.base_model_prefix}.")


def set_dropout(model: PreTrainedModel, share: float) -> None:
    """One rate of dropout for all layers, and none inside attention, where it keeps off the fast path."""
    for module in model.modules():
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0  # type: ignore[assignment]
        for child in module.children():
            if isinstance(child, torch.nn.Dropout):
                child.p = 0.0 if type(module).__name__.endswith("SelfAttention") else share
