"""Trainer callbacks: throughput in the log, a checkpoint on SIGTERM, an early end on divergence."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


class ThroughputCallback(TrainerCallback):
    """Logs loss and tokens per second; `tokens` are those of the whole run, without padding."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.first_step, self.start_time = 0, time.monotonic()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.first_step, self.start_time = state.global_step, time.monotonic()

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        if logs and "loss" in logs:
            rate = self.summary(state)["tokens_per_second"]
            log.info("step %d of %d, loss %.4f, %.0f tokens/s", state.global_step, state.max_steps, float(logs["loss"]), rate)

    def summary(self, state: TrainerState) -> dict[str, float]:
        """Return tokens, seconds and tokens_per_second of this process, without what an earlier one did."""
        seconds = time.monotonic() - self.start_time
        tokens = round(self.tokens * (state.global_step - self.first_step) / max(1, state.max_steps))
        return {"tokens": tokens, "seconds": round(seconds, 1), "tokens_per_second": round(tokens / seconds, 1)}


class SaveOnSigterm(TrainerCallback):
    """Saves a checkpoint after the current step and stops, once SIGTERM has arrived."""

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if sigterm.stop_requested():
            control.should_save = control.should_training_stop = True


class StopIfDiverged(TrainerCallback):
    """Ends a training run whose weights are no longer finite."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        # Checking all weights is slow, and non-finite weights always have a non-finite gradient.
        if not math.isfinite((logs or {}).get("grad_norm", math.nan)):
            _check_finite(kwargs["model"], args, state)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        _check_finite(kwargs["model"], args, state)


def _check_finite(model: torch.nn.Module, args: TrainingArguments, state: TrainerState) -> None:
    if not all(weights.isfinite().all() for weights in model.parameters()):
        raise InputError(
            f"the training diverged: at step {state.global_step} of {state.max_steps} some weights are not finite; "
            f"lower its learning_rate, {args.learning_rate:g} now"
        )
