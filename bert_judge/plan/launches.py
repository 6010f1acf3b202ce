"""Fine-tuning in several processes: how many a configuration file of accelerate says, and what is wrong with such a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from bert_judge.config import Config, StudentModel, Tuning
from bert_judge.runtime.errors import InputError


def processes_of(tuning: Tuning) -> int:
    """In how many processes a model is fitted.

    Raises:
        InputError: the file of accelerate is not there, or does not say.
    """
    if tuning.accelerate is None:
        return 1
    cure = "name a file that `accelerate config` wrote, or configs/accelerate/fsdp.yaml"
    try:
        told = yaml.safe_load(Path(tuning.accelerate).expanduser().read_text("utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise InputError(f"{tuning.accelerate}: cannot be read: {' '.join(str(error).split())[:200]}; {cure}") from error
    count = told.get("num_processes") if isinstance(told, dict) else None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"{tuning.accelerate}: does not say num_processes; {cure}")
    return count


def of_fit(config: Config) -> list[str]:
    """What is wrong with the files that a configuration names, and with batches that cannot be shared out."""
    faults = []
    for where, tuning in _tunings(config):
        try:
            together = (tuning.micro_batch_size or 1) * processes_of(tuning)
        except InputError as error:
            faults.append(f"{where}.accelerate: {error}")
            continue
        if tuning.accelerate and tuning.batch_size % together:
            faults.append(
                f"{where}: batch_size {tuning.batch_size} must be a multiple of micro_batch_size times the processes "
                f"of accelerate, {together}"
            )
    return faults


def _tunings(config: Config) -> Iterator[tuple[str, Tuning]]:
    """(where, settings) of all that is fine-tuned."""
    for name, model in config.models.items():
        if isinstance(model, StudentModel):
            yield f"models.{name}.training", model.training
    for name, judge in config.judges.items():
        if isinstance(tuning := getattr(judge, "tuning", None), Tuning):
            yield f"judges.{name}.tuning", tuning
