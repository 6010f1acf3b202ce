"""Train an encoder with transformers' Trainer, resuming from the last checkpoint.

The order of the batches of all epochs is computed from the seed before training: rows of similar length share a batch, batches are
shuffled. A resumed run therefore sees the same batches as an uninterrupted one.

On a CPU, attention is in float32 and everything else in bfloat16: PyTorch's backward pass through attention is faster in float32
there, several times for short rows (measured: docs/log.md).
"""

import json
import logging
import math
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import Subset
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from bert_judge.config import Training, Tuning
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.encoder.torch_model import collate
from bert_judge.runtime import hardware, resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.hardware import best_device, best_dtype

SDPA = "sdpa"
SDPA_FLOAT32 = "sdpa_in_float32"


@contextmanager
def float32_attention(model: PreTrainedModel) -> Iterator[None]:
    """Compute fused attention in float32 within this context on a machine without a GPU; outputs differ by rounding."""
    # The model's own device does not count: with several processes it is moved only when training starts.
    if model.config._attn_implementation != SDPA or hardware.best_device() != "cpu":
        yield
        return
    model.set_attn_implementation(SDPA_FLOAT32)
    try:
        yield
    finally:
        model.set_attn_implementation(SDPA)


def _sdpa_in_float32(module: torch.nn.Module, *tensors: torch.Tensor | None, **options: Any) -> tuple[torch.Tensor, None]:
    [query, *_] = tensors
    assert query is not None
    with torch.autocast(query.device.type, enabled=False):
        float32_options = {name: _to_float32(value) for name, value in options.items()}
        output, weights = sdpa_attention_forward(module, *map(_to_float32, tensors), **float32_options)
    return output.to(query.dtype), weights


def _to_float32(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


AttentionInterface.register(SDPA_FLOAT32, _sdpa_in_float32)
AttentionMaskInterface.register(SDPA_FLOAT32, sdpa_mask)


# --- training ---

log = logging.getLogger(__name__)

# Rows are sorted by length within shuffled pools of this many batches.
BATCHES_PER_POOL = 50
CHECKPOINTS_PER_RUN = 10


@dataclass(frozen=True)
class Examples:
    """Encoded rows with labels in [0, 1] and weights, each of length n; `opponents`: of pairs, rows whose logits are subtracted."""

    rows: Sequence[EncodedRow]
    labels: Sequence[float]
    weights: Sequence[float]
    opponents: Sequence[EncodedRow] | None = None

    def __getitem__(self, i: int) -> dict[str, Any]:
        item = {"row": self.rows[i], "label": self.labels[i], "weight": self.weights[i]}
        return item if self.opponents is None else item | {"opponent": self.opponents[i]}

    @property
    def tokens(self) -> list[int]:
        """Number of tokens of each example."""
        lengths = np.array([[len(row.ids) for row in rows] for rows in (self.rows, self.opponents) if rows is not None])
        return lengths.sum(axis=0).tolist()


def fit(checkpoint: Checkpoint, examples: Examples, settings: Training, work_folder: str | Path) -> dict[str, float]:
    """Train the model of a checkpoint in place, resuming from the work folder; return steps, loss and throughput."""
    work_folder = Path(work_folder)
    tokens = examples.tokens
    order = batch_order(tokens, settings)
    model, config = checkpoint.model, checkpoint.model.config
    if not checkpoint.trained:
        initialize_head(model, settings.seed)
    set_dropout(model, settings.dropout)
    embeddings = model.get_input_embeddings()
    # The tags are new tokens and must be trained; the embeddings of other tokens generalise better frozen.
    embeddings.requires_grad_(checkpoint.metadata.input.format == "tags" or not settings.freeze_embeddings)
    pad_id = int(cast(int, checkpoint.tokenizer.pad_token_id))
    trainer = _WeightedTrainer(
        model=model,
        args=training_arguments(settings, work_folder, steps=math.ceil(len(order) / settings.batch_size)),
        train_dataset=Subset(cast(Any, examples), order),
        data_collator=lambda batch: _collate(batch, pad_id, config, settings.label_smoothing),
        settings=settings,
    )
    statistics = run_trainer(trainer, sum(tokens[i] for i in order), work_folder)
    embeddings.requires_grad_(True)
    model.eval()
    return statistics


def run_trainer(trainer: Trainer, tokens: int, work_folder: Path) -> dict[str, float]:
    """Train on so many tokens, resuming from the last checkpoint; return steps, loss and throughput. SIGTERM saves and stops."""
    monitor = TrainingMonitor(tokens)
    trainer.add_callback(monitor)
    trainer.remove_callback(PrinterCallback)
    with resume.defer_sigterm(), float32_attention(cast(PreTrainedModel, trainer.model)):
        result = trainer.train(resume_from_checkpoint=find_last_checkpoint(work_folder))
        if trainer.state.global_step < trainer.state.max_steps:
            resume.stop(f"{trainer.state.global_step} of {trainer.state.max_steps} steps, which are saved")
    return {"steps": result.global_step, **monitor.summary(trainer.state), "loss": result.training_loss}


def batch_order(lengths: Sequence[int], settings: Training | Tuning) -> list[int]:
    """Return the positions of rows in training order, all epochs concatenated.

    Every epoch has each row once (the last may be partial). Rows of the same batch, `batch_size` positions, are similar in length.
    """
    rng = random.Random(settings.seed)
    stream: list[int] = []
    for _ in range(math.ceil(settings.epochs)):
        epoch = list(range(len(lengths)))
        rng.shuffle(epoch)
        stream += epoch
    stream = stream[: max(1, round(settings.epochs * len(lengths)))]
    order: list[int] = []
    for pool in _chunks(stream, settings.batch_size * BATCHES_PER_POOL):
        batches = _chunks(sorted(pool, key=lambda i: lengths[i]), settings.batch_size)
        rng.shuffle(batches)
        # The short batch of the last pool comes last, so that the others stay aligned with the Trainer's steps.
        batches.sort(key=lambda batch: len(batch) < settings.batch_size)
        order += [position for batch in batches for position in batch]
    return order


def _chunks(items: list[int], size: int) -> list[list[int]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def find_last_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint in a folder, or None; remove incomplete ones, without the file that is written last."""
    complete: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        try:
            complete[json.loads((path / "trainer_state.json").read_text())["global_step"]] = path
        except (OSError, json.JSONDecodeError, KeyError):
            log.warning("%s: removed an incomplete checkpoint", path)
            shutil.rmtree(path)
    if not complete:
        return None
    step = max(complete)
    log.info("resuming from step %d", step)
    return str(complete[step])


def _collate(batch: Sequence[dict[str, Any]], pad_id: int, config: object, smoothing: float) -> dict[str, torch.Tensor]:
    # Opponents follow the rows, so that one forward pass covers both.
    rows = [item["row"] for item in batch] + [item["opponent"] for item in batch if "opponent" in item]
    tensors = collate(rows, pad_id, config)
    labels = torch.tensor([item["label"] for item in batch], dtype=torch.float32)
    tensors["targets"] = labels * (1 - smoothing) + smoothing / 2
    tensors["weights"] = torch.tensor([item["weight"] for item in batch], dtype=torch.float32)
    return tensors


class _WeightedTrainer(Trainer):
    """Minimises the weighted cross-entropy of soft labels, with a higher learning rate for the head."""

    def __init__(self, settings: Training, **options: Any) -> None:
        self.settings = settings
        super().__init__(**options)
        # `compute_loss` returns a mean, so the Trainer must divide by the gradient accumulation steps.
        self.model_accepts_loss_kwargs = False

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(parameter_groups(cast(PreTrainedModel, self.model), self.settings), fused=True)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
        targets, weights = inputs.pop("targets"), inputs.pop("weights")
        outputs = model(**inputs)
        # A softmax over two logits is a sigmoid of their difference.
        logits = outputs.logits.float().diff(dim=1).squeeze(1)
        if len(logits) > len(targets):
            logits = logits[: len(targets)] - logits[len(targets) :]
        losses = binary_cross_entropy_with_logits(logits, targets, reduction="none")
        loss = (losses * weights).mean()
        return (loss, outputs) if return_outputs else loss


def training_arguments(settings: Training | Tuning, folder: Path, steps: int, **overrides: Any) -> TrainingArguments:
    """Return the Trainer's arguments: rows in the given order, regular checkpoints, no network, no progress bars."""
    device, processes = best_device(), getattr(settings, "processes", 1)
    micro_batch_size = settings.micro_batch_size or settings.batch_size // processes
    arguments: dict[str, Any] = {
        "num_train_epochs": 1,  # the order of the rows contains all epochs
        "train_sampling_strategy": "sequential",
        "per_device_train_batch_size": micro_batch_size,
        "gradient_accumulation_steps": settings.batch_size // (micro_batch_size * processes),
        "learning_rate": settings.learning_rate,
        "warmup_steps": round(settings.warmup_ratio * steps),
        "lr_scheduler_type": "linear",
        "bf16": best_dtype(device) == "bfloat16",
        "use_cpu": device == "cpu",
        "seed": settings.seed,
        "logging_steps": max(1, steps // 50),
        "save_steps": max(10, math.ceil(steps / CHECKPOINTS_PER_RUN)),
        "save_total_limit": 2,
        "remove_unused_columns": False,
        "dataloader_pin_memory": device == "cuda",
        "disable_tqdm": True,
        "report_to": "none",
    }
    return TrainingArguments(output_dir=str(folder), **(arguments | overrides))


def parameter_groups(model: PreTrainedModel, settings: Training) -> list[dict[str, Any]]:
    """Group parameters by learning rate (head or encoder) and weight decay (matrices only)."""
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
    """Reinitialise the layers above the encoder (LeCun normal); a backbone's pooler was trained for another task."""
    torch.manual_seed(seed)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and is_head_parameter(model, name):
            torch.nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def is_head_parameter(model: PreTrainedModel, name: str) -> bool:
    """Return whether a module or parameter is above the encoder."""
    return "pooler" in name or not name.startswith(f"{model.base_model_prefix}.")


def set_dropout(model: PreTrainedModel, probability: float) -> None:
    """Set the dropout of all layers; 0 inside attention, where it would disable the fused kernels."""
    for module in model.modules():
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0  # type: ignore[assignment]
        for child in module.children():
            if isinstance(child, torch.nn.Dropout):
                child.p = 0.0 if type(module).__name__.endswith("SelfAttention") else probability


class TrainingMonitor(TrainerCallback):
    """Logs loss and tokens per second, saves a checkpoint and stops after SIGTERM, and ends a run whose weights are not finite.

    `tokens`: those of the whole run, without padding.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.first_step, self.start_time = 0, time.monotonic()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.first_step, self.start_time = state.global_step, time.monotonic()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if resume.stop_requested():
            control.should_save = control.should_training_stop = True
        if control.should_save:
            # Resuming from a checkpoint with weights that are not finite could only fail.
            _check_finite(kwargs["model"], args, state)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        logs = kwargs["logs"] or {}
        if "loss" in logs:
            rate = self.summary(state)["tokens_per_second"]
            message = "step %d of %d, loss %.4f, %.0f tokens/s"
            # The progress bar of `bert-judge train` reads these attributes of the record.
            steps = {"step": state.global_step, "total_steps": state.max_steps}
            log.info(message, state.global_step, state.max_steps, float(logs["loss"]), rate, extra=steps)
        # Checking all weights is slow, and non-finite weights always have a non-finite gradient.
        if not math.isfinite(logs.get("grad_norm", math.nan)):
            _check_finite(kwargs["model"], args, state)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        _check_finite(kwargs["model"], args, state)

    def summary(self, state: TrainerState) -> dict[str, float]:
        """Return tokens, seconds and tokens_per_second of this process, without what an earlier one did."""
        seconds = time.monotonic() - self.start_time
        tokens = round(self.tokens * (state.global_step - self.first_step) / max(1, state.max_steps))
        return {"tokens": tokens, "seconds": round(seconds, 1), "tokens_per_second": round(tokens / seconds, 1)}


def _check_finite(model: torch.nn.Module, args: TrainingArguments, state: TrainerState) -> None:
    if not all(weights.isfinite().all() for weights in model.parameters()):
        raise InputError(
            f"the training diverged: at step {state.global_step} of {state.max_steps} some weights are not finite; "
            f"lower its learning_rate, {args.learning_rate:g} now"
        )
