"""How a causal language model is fine-tuned."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share


class Lora(Block):
    """Low-rank matrices beside the frozen weights, for every linear layer but the last (Hu et al. 2021)."""

    rank: int = Field(16, gt=0)
    """rank of the matrices"""
    alpha: int = Field(32, gt=0)
    """their product is weighed with alpha / rank"""
    dropout: Share = 0.05
    """dropout before them"""


class Tuning(Block):
    """How a language model is fitted to the texts that it shall write: a student to answers, a judge of pairs to scores."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size", "gradient_checkpointing", "accelerate"})

    method: Literal["lora", "full"] = "lora"
    """`lora`: low-rank matrices, merged into the weights at the end; `full`: all weights"""
    lora: Lora = Lora()
    """size of the low-rank matrices"""
    epochs: float = Field(2.0, gt=0)
    """passes over the texts"""
    learning_rate: float = Field(1e-4, gt=0)
    """peak of the learning rate; linear decay to 0. Full fine-tuning wants less, 1e-5 for example"""
    warmup_ratio: Share = 0.06
    """share of the steps in which the learning rate rises"""
    batch_size: int = Field(16, gt=0)
    """texts per step"""
    micro_batch_size: Annotated[int, Field(gt=0)] | None = None
    """texts of a step that are in memory together, a divisor of `batch_size`; left out: all"""
    gradient_checkpointing: bool = False
    """compute activations anew in the backward pass instead of keeping them"""
    accelerate: str | None = None
    """configuration file of `accelerate`, such as `configs/accelerate/fsdp.yaml`: fit the model in as many processes as it says;
    left out: in one"""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's weight decay"""
    max_length: int = Field(2048, ge=16)
    """longest prompt and text together, in tokens; a longer row is left out, because a cut text teaches to break off"""
    seed: int = 0
    """seed of the new matrices and of the row order"""

    @model_validator(mode="after")
    def _whole_parts(self) -> Tuning:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of micro_batch_size")
        return self
