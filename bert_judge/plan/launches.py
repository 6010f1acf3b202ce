"""Read and check the number of fine-tuning processes in an accelerate configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from bert_judge.config import Config, StudentModel, Tuning
from bert_judge.runtime.errors import InputError


def count_processes(tuning: Tuning) -> int:
    """Return the number of processes that fine-tune a model.

    Raises:
        InputError: the accelerate file is missing or does not set `num_processes`.
    """
    if tuning.accelerate is None:
        return 1
    remedy = "name a file that `accelerate config` wrote, or configs/accelerate/fsdp.yaml"
    try:
        settings = yaml.safe_load(Path(tuning.accelerate).expanduser().read_text("utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise InputError(f"{tuning.accelerate}: cannot be read: {' '.join(str(error).split())[:200]}; {remedy}") from error
    count = settings.get("num_processes") if isinstance(settings, dict) else None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"{tuning.accelerate}: does not set num_processes; {remedy}")
    return count


def check_consistency(config: Config) -> list[str]:
    """Return the problems of accelerate files, and batch sizes that the processes cannot divide evenly."""
    problems = []
    for where, tuning in _tunings(config):
        try:
            rows_per_step = (tuning.micro_batch_size or 1) * count_processes(tuning)
        except InputError as error:
            problems.append(f"{where}.accelerate: {error}")
            continue
        if tuning.accelerate and tuning.batch_size % rows_per_step:
            problems.append(
                f"{where}: batch_size {tuning.batch_size} must be a multiple of micro_batch_size times the processes "
                f"of accelerate, {rows_per_step}"
            )
    return problems


def _tunings(config: Config) -> Iterator[tuple[str, Tuning]]:
    """Yield (location, settings) of every fine-tuned model and judge."""
    for name, model in config.models.items():
        if isinstance(model, StudentModel):
            yield f"models.{name}.training", model.training
    for name, judge in config.judges.items():
        if isinstance(tuning := getattr(judge, "tuning", None), Tuning):
            yield f"judges.{name}.tuning", tuning
