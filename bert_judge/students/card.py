"""A student's model card: what it started from and what it learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables
from bert_judge.assets.prepare import Manifest

CARD = """\
---
library_name: transformers
pipeline_tag: text-generation
tags: [bert-judge]
---

# {name}

A language model fine-tuned on answers to training questions ({choice}). It is known to be good for nothing but the
comparison of such choices.

| | |
|---|---|
| base model | `{base}`, revision `{revision}` |
| answers | {answers}, of {models} to {tasks}; {left_out} left out as too long |
| filter | `{filter}`: {choice} |
| method | {method}, {epochs} epochs, {steps} steps, learning rate {rate} |
| prompts | style `{style}` |
| final training loss | {loss:.4f} (mean over the run, tokens of answers only) |
| made by | {program} |
"""


def write_card(folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, Any]) -> None:
    """Write `README.md` into the student's folder.

    Args:
        spec: of `Plan.student_spec`.
        base: the model that it started from.
        metrics: what its metrics.json holds.
    """
    training, chosen = spec["training"], spec["filter"]
    lora = training["lora"]
    method = f"LoRA of rank {lora['rank']}, merged" if training["method"] == "lora" else "all weights"
    text = CARD.format(
        name=spec["student"],
        choice=told(chosen),
        base=base.repository,
        revision=base.revision,
        answers=metrics["answers"],
        left_out=metrics["left_out"],
        models=", ".join(sorted({model for model, _ in chosen["tables"]})),
        tasks=", ".join(sorted({task for _, task in chosen["tables"]})),
        filter=chosen["filter"],
        method=method,
        epochs=f"{training['epochs']:g}",
        steps=metrics["training"]["steps"],
        rate=training["learning_rate"],
        style=spec["prompt_style"],
        loss=metrics["training"]["loss"],
        program=f"bert-judge {__version__}",
    )
    with tables.atomic(folder / "README.md") as temporary:
        temporary.write_text(text, encoding="utf-8")


def told(chosen: Mapping[str, Any]) -> str:
    """A filter in words."""
    if chosen["judge"] == "all":
        return "all of them"
    share = f"{chosen['keep']:g}%"
    return f"{share} of them, drawn at random" if chosen["judge"] == "random" else f"the {share} that {chosen['judge']} scores best"
