"""The part of a model card that describes a fine-tuning run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bert_judge.judges.model_card import markdown_table


def training_table(tuning: Mapping[str, Any], metrics: Mapping[str, Any], data: Mapping[str, object]) -> str:
    """Render a Markdown table of a run's data, method and loss.

    Args:
        tuning: the values of `config.Tuning`.
        metrics: `steps` and `loss` of the run.
        data: further rows, name → value.
    """
    method = f"LoRA of rank {tuning['lora']['rank']}, merged" if tuning["method"] == "lora" else "all weights"
    schedule = f"{tuning['epochs']:g} epochs, {metrics['steps']} steps, learning rate {tuning['learning_rate']}"
    loss = f"{metrics['loss']:.4f} (mean over the run, completion tokens only)"
    return markdown_table(("training", ""), [*data.items(), ("method", f"{method}, {schedule}"), ("training loss", loss)])
