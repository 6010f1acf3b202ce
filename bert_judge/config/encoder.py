"""How a trained judge sees a row, and how it is fitted."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share


class Input(Block):
    """How question, candidate and reference become the encoder's tokens."""

    format: Literal["pair", "tags"] = "pair"
    """`pair`: the backbone's own sentence pair; `tags`: the three added tokens of the published checkpoints"""
    question: bool = True
    """show the question to the judge"""
    max_length: int = Field(512, ge=16)
    """longest input in tokens; the backbone's window when that is shorter"""
    truncation: Literal["middle", "left"] = "middle"
    """`middle` keeps the reference and the end of the candidate; `left` cuts the prompt's start, as published"""


class Training(Block):
    """How the encoder is fitted."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size"})

    epochs: float = Field(2.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak of the learning rate; linear decay to 0"""
    head_lr_multiplier: float = Field(5.0, gt=0)
    """the new head learns this many times as fast as the encoder"""
    warmup_ratio: Share = 0.06
    """share of the steps in which the learning rate rises"""
    batch_size: int = Field(16, gt=0)
    """rows per step"""
    micro_batch_size: Annotated[int, Field(gt=0)] | None = None
    """rows of a step that are in memory together, a divisor of `batch_size`: less memory, same judge; left out: all"""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay"""
    dropout: Share = 0.0
    """dropout in the encoder's layers and before the head"""
    label_smoothing: Share = 0.0
    """how far labels are moved towards 0.5"""
    freeze_embeddings: bool = True
    """leave the word embeddings as they are; never with the format `tags`, whose tokens are new"""
    seed: int = 0
    """seed of the new layers and of the row order"""

    @model_validator(mode="after")
    def _whole_parts(self) -> Training:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of micro_batch_size")
        return self
