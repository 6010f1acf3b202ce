"""What a probe is compared with, and how those of its baselines are fitted that learn."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share
from bert_judge.config.tuning import Lora

Baseline = Literal["majority", "length", "fine_tuned", "lora", "prompted"]
# Told without a model, when the probe is fitted; the others load the backbone, in a job each.
WITHOUT_MODEL = ("majority", "length")
# Fitted to the labels.
LEARNING = ("fine_tuned", "lora")


class BaselineTraining(Block):
    """How `fine_tuned` and `lora` are fitted: the backbone with a head per aspect, all aspects in one training."""

    run_time: ClassVar[frozenset[str]] = frozenset({"rows_at_once"})

    epochs: float = Field(6.0, gt=0)
    """passes over the training rows; the best moment counts, not the last"""
    rows: Annotated[int, Field(gt=0)] | None = None
    """most training rows, drawn by question; left out: all"""
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the training questions that nothing is learnt from and on which the best moment is chosen"""
    looks: int = Field(6, gt=0)
    """how many moments there are to choose from"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak of the learning rate of `fine_tuned`; a language model wants less, 1e-5 for example"""
    lora_learning_rate: float = Field(1e-3, gt=0)
    """peak of the learning rate of `lora`"""
    head_factor: float = Field(5.0, gt=0)
    """the new heads of `fine_tuned` learn this many times as fast as the backbone"""
    lora: Lora = Lora()
    """size of the low-rank matrices"""
    warmup: Share = 0.06
    """share of the steps in which the learning rate rises; linear decay to 0 after it"""
    batch_size: int = Field(16, gt=0)
    """rows per step"""
    rows_at_once: Annotated[int, Field(gt=0)] | None = None
    """rows of a step that are in memory together, a divisor of `batch_size`; left out: all"""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay"""
    seed: int = 0
    """seed of the new heads and matrices, of the draw and of the row order"""

    @model_validator(mode="after")
    def _whole_parts(self) -> BaselineTraining:
        if self.rows_at_once is not None and self.batch_size % self.rows_at_once:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of rows_at_once")
        return self
