"""What a training run tells while it runs; that it saves its work when it has to stop, and stops when it is in vain."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

import torch
from transformers import PreTrainedModel, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from bert_judge.runtime import hardware, sigterm
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


class ThroughputCallback(TrainerCallback):
    """Lines for a log file: loss, tokens per second, and the share of the machine that they take.

    The share is that of the products with weights, forward and backward (6 operations a weight and token; Kaplan et al. 2020,
    section 2.1), in what the device reaches in a matrix product alone. Attention's own products are left out: a lower bound.

    Args:
        model: in training.
        tokens: of the whole run, padding not counted.
        dtype: that it computes in.
        devices: that compute together.
    """

    def __init__(self, model: PreTrainedModel, tokens: int, dtype: torch.dtype, devices: int = 1) -> None:
        self.tokens = tokens
        weights = sum(module.weight.numel() for module in model.modules() if isinstance(module, torch.nn.Linear))
        self.most = devices * hardware.matmul_rate(hardware.best_device(), dtype) / (6 * weights)
        self.first, self.started = 0, time.monotonic()

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.first, self.started = state.global_step, time.monotonic()

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        if logs and "loss" in logs:
            told = self.summary(state)
            step, loss, rate = state.global_step, float(logs["loss"]), told["tokens_per_second"]
            share = told["utilisation"]
            log.info(
                "step %d of %d, loss %.4f, %.0f tokens/s, %.0f%% of the machine", step, state.max_steps, loss, rate, 100 * share
            )

    def summary(self, state: TrainerState) -> dict[str, float]:
        """Of what this process did, not of what an earlier one left: tokens, seconds, tokens_per_second, utilisation."""
        seconds = time.monotonic() - self.started
        tokens = round(self.tokens * (state.global_step - self.first) / max(1, state.max_steps))
        rate = tokens / seconds
        figures = {"tokens": tokens, "seconds": seconds, "tokens_per_second": rate, "utilisation": rate / self.most}
        return {name: round(value, 4 if name == "utilisation" else 1) for name, value in figures.items()}


class SaveOnSigterm(TrainerCallback):
    """A checkpoint after the step in hand, when a scheduler asks to stop."""

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if sigterm.stop_requested():
            control.should_save = control.should_training_stop = True


class StopIfDiverged(TrainerCallback):
    """Ends a training whose weights are no longer numbers; the hours that it has left would not bring them back."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **given: Any,
    ) -> None:
        # Weights that are no numbers have no gradient that is one, and to look at all of them takes as long as some layers.
        if not math.isfinite((logs or {}).get("grad_norm", math.nan)):
            _refuse_divergence(given["model"], args, state)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: Any) -> None:
        _refuse_divergence(given["model"], args, state)


def _refuse_divergence(model: torch.nn.Module, args: TrainingArguments, state: TrainerState) -> None:
    if not all(weights.isfinite().all() for weights in model.parameters()):
        raise InputError(
            f"the training diverged: at step {state.global_step} of {state.max_steps} some weights are not finite; "
            f"lower its learning_rate, {args.learning_rate:g} now"
        )
