"""Training settings of encoders and language models."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share


class MicroBatches(Block):
    """Settings of a training that may split its batches."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size"})

    batch_size: int = Field(16, gt=0)
    """rows per optimizer step"""
    micro_batch_size: Annotated[int, Field(gt=0)] | None = None
    """rows per forward pass, a divisor of `batch_size`; gradients are accumulated, which saves memory; all rows by default"""

    @model_validator(mode="after")
    def _check_divisor(self) -> Self:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of micro_batch_size")
        return self


class Input(Block):
    """How question, candidate and reference become the encoder's input tokens."""

    format: Literal["pair", "tags"] = "pair"
    """`pair`: the sentence pair of the backbone; `tags`: the three added special tokens of the published checkpoints"""
    question: bool = True
    """include the question"""
    max_length: int = Field(512, ge=16)
    """maximum input length in tokens, capped by the backbone's context window"""
    truncation: Literal["middle", "left"] = "middle"
    """`middle` keeps the reference and the end of the candidate; `left` cuts the start of the input, as published"""


class Training(MicroBatches):
    """How an encoder is trained."""

    epochs: float = Field(2.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak learning rate, with linear decay to 0"""
    head_lr_multiplier: float = Field(5.0, gt=0)
    """learning rate of the new head, as a multiple of the encoder's"""
    warmup_ratio: Share = 0.06
    """share of the steps with linear warm-up"""
    weight_decay: float = Field(0.01, ge=0)
    """weight decay of AdamW"""
    dropout: Share = 0.0
    """dropout in the encoder's layers and before the head"""
    label_smoothing: Share = 0.0
    """how far labels are smoothed towards 0.5"""
    freeze_embeddings: bool = True
    """do not train the word embeddings; ignored for the format `tags`, whose special tokens are new"""
    round_weights: bool = False
    """round the trained weights to values that fit in 8-bit integers, for a judge that is published as a small file"""
    seed: int = 0
    """seed of the new layers and of the row order"""


class Lora(Block):
    """Low-rank adapters (LoRA, Hu et al. 2021) on all linear layers except the last."""

    rank: int = Field(16, gt=0)
    """rank of the matrices"""
    alpha: int = Field(32, gt=0)
    """the adapters are scaled by alpha / rank"""
    dropout: Share = 0.05
    """dropout before the adapters"""


class Tuning(MicroBatches):
    """How a student is fine-tuned on answers."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size", "gradient_checkpointing"})

    method: Literal["lora", "full"] = "lora"
    """`lora`: low-rank adapters, merged into the weights at the end; `full`: all weights"""
    lora: Lora = Lora()
    """settings of the adapters"""
    epochs: float = Field(2.0, gt=0)
    """passes over the training texts"""
    learning_rate: float = Field(1e-4, gt=0)
    """peak learning rate; full fine-tuning needs a lower one, for example 1e-5"""
    schedule: Literal["linear", "cosine"] = "linear"
    """decay of the learning rate to 0"""
    warmup_ratio: Share = 0.06
    """share of the steps with linear warm-up"""
    gradient_checkpointing: bool = False
    """recompute activations in the backward pass to save memory"""
    weight_decay: float = Field(0.0, ge=0)
    """weight decay of AdamW"""
    max_length: int = Field(2048, ge=16)
    """maximum length of prompt and text in tokens; longer rows are dropped, because truncated texts teach to stop early"""
    seed: int = 0
    """seed of the adapters and of the row order"""


class JudgeTuning(Tuning):
    """How a language model is fine-tuned as a judge."""

    epochs: float = Field(3.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(2e-4, gt=0)
    """peak learning rate; full fine-tuning needs a lower one, for example 2e-5"""
    max_length: int = Field(1024, ge=64)
    """maximum length of a prompt in tokens; a longer one loses the middle of its answers"""
    merge: bool = False
    """write complete weights instead of an adapter"""
    swap_ratio: Share = 0.5
    """pairs: share of the rows, drawn again in each epoch, whose answers are swapped, with their grades and names"""
    reference_drop_ratio: Share = 0.5
    """pairs: share of the rows, drawn again in each epoch, that are read without their references"""
