"""Fine-tune a causal language model on prompts with completions, of which only the completions have a loss.

On several GPUs, `accelerate launch` runs this module in a process per GPU; they train on a job in the work folder and leave the
trained weights there.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from accelerate.hooks import remove_hook_from_module  # type: ignore[import-untyped]
from peft import LoraConfig, PeftModel, get_peft_model
from torch.utils.data import Subset
from transformers import AutoModelForCausalLM, Trainer

from bert_judge import tables
from bert_judge.candidates.generators.hf import LoadedModel
from bert_judge.config import Tuning
from bert_judge.config.files import workflow_folder
from bert_judge.encoder.trainer import batch_order, run_trainer, training_arguments
from bert_judge.runtime.errors import InputError

# PEFT asks transformers for a property by its old name, which users can do nothing about.
warnings.filterwarnings("ignore", "`(is_)?gradient_checkpointing` is deprecated", FutureWarning)
# Label without loss in PyTorch's cross-entropy.
IGNORE_INDEX = -100
# What the processes of a training read, and the folder that they write.
JOB_FILE, TRAINED_FOLDER, METRICS_FILE = "job.json", "trained", "metrics.json"


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
    if settings.processes > 1:
        return _tune_in_processes(loaded, examples, settings, Path(work_folder))
    model = _trainable(loaded.model, settings)
    return model, _run(_make_trainer(model, loaded.pad_id, examples, settings, Path(work_folder)), examples, settings)


def _make_trainer(model: Any, pad_id: int, examples: Sequence[Example], settings: Tuning, work_folder: Path) -> Trainer:
    order = batch_order([len(example) for example in examples], settings)
    return Trainer(
        model=model,
        args=training_arguments(
            settings,
            work_folder,
            steps=math.ceil(len(order) / settings.batch_size),
            weight_decay=settings.weight_decay,
            lr_scheduler_type=settings.schedule,
            **({"gradient_checkpointing": True} if settings.gradient_checkpointing else {}),
        ),
        train_dataset=Subset(cast(Any, examples), order),
        data_collator=partial(collate, pad_id=pad_id),
    )


def _run(trainer: Trainer, examples: Sequence[Example], settings: Tuning) -> dict[str, float]:
    order = batch_order([len(example) for example in examples], settings)
    return run_trainer(trainer, sum(len(examples[index]) for index in order), Path(str(trainer.args.output_dir)))


def launch_command(processes: int, work_folder: Path) -> list[str]:
    """Return the command that trains on the job of a work folder, on as many GPUs as processes."""
    launcher = ["-m", "accelerate.commands.launch", "--config_file", str(workflow_folder() / "envs" / "fsdp.yaml")]
    return [sys.executable, *launcher, "--num_processes", str(processes), "-m", __name__, str(work_folder)]


def _tune_in_processes(
    loaded: LoadedModel, examples: Sequence[Example], settings: Tuning, work_folder: Path
) -> tuple[Any, dict[str, float]]:
    """Train in a process per GPU, on equal parts of a batch. Raises InputError: it cannot be divided, or a process failed."""
    if settings.batch_size % (settings.processes * (settings.micro_batch_size or 1)):
        raise InputError(
            f"training.batch_size: {settings.batch_size} is no multiple of processes ({settings.processes}) × micro_batch_size"
        )
    # The processes need the memory of the accelerators.
    model = remove_hook_from_module(loaded.model, recurse=True).to("cpu")
    torch.cuda.empty_cache()
    job = {
        "model": model.name_or_path,
        "pad_id": loaded.pad_id,
        "settings": settings.model_dump(mode="json", include=set(Tuning.model_fields)),
        "examples": [astuple(example) for example in examples],
    }
    tables.write_json(work_folder / JOB_FILE, job)
    done = subprocess.run(launch_command(settings.processes, work_folder))
    if done.returncode:
        raise InputError(f"the training in {settings.processes} processes ended with status {done.returncode}; see the lines above")
    folder = work_folder / TRAINED_FOLDER
    metrics: dict[str, float] = json.loads((folder / METRICS_FILE).read_text("utf-8"))
    if settings.method == "full":
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True), metrics
    return PeftModel.from_pretrained(model, str(folder), is_trainable=True), metrics


def train_job(work_folder: Path) -> None:
    """Train on the job of a work folder, as one of several processes, and write the weights and the metrics of the run."""
    job = json.loads((work_folder / JOB_FILE).read_text("utf-8"))
    settings, examples = Tuning.model_validate(job["settings"]), [Example(*texts) for texts in job["examples"]]
    # Shares of weights of several types cannot be gathered together.
    model = _trainable(AutoModelForCausalLM.from_pretrained(job["model"], local_files_only=True), settings).float()
    trainer = _make_trainer(model, job["pad_id"], examples, settings, work_folder)
    metrics = _run(trainer, examples, settings)
    trainer.save_model(str(work_folder / TRAINED_FOLDER))
    if trainer.is_world_process_zero():
        tables.write_json(work_folder / TRAINED_FOLDER / METRICS_FILE, metrics)


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
    num_logits = width - shortest + 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels[:, -num_logits:], "logits_to_keep": num_logits}


if __name__ == "__main__":
    train_job(Path(sys.argv[1]))
