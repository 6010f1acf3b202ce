"""Settings of judges of kind `bert`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share
from bert_judge.config.encoder import Input, Training


class BertJudgeConfig(JudgeConfig):
    """A trained encoder."""

    run_time: ClassVar[frozenset[str]] = frozenset({"num_shards"})

    kind: Literal["bert"]
    dataset: str | None = None
    """train on this dataset …"""
    checkpoint: str | None = None
    """… or take a trained judge: hub id or local folder"""
    revision: str | None = None
    """commit of the hub repository of backbone or checkpoint"""
    backbone: str = "minilm"
    """`minilm` (offline), a hub id or a local folder of an encoder"""
    input: Input = Input()
    """how the encoder sees a row"""
    training: Training = Training()
    """how the encoder is fitted"""
    features: bool = True
    """let trees on lexical features speak beside the encoder, weighed on the validation rows"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""
    calibrated: bool = True
    """scores of the whole judge, calibrated; false: the encoder's raw sigmoid"""
    references: Literal["all", "closest"] = "all"
    """which of several references the encoder reads: each, and the best one wins, or only the one that shares most words with the
    answer, which is faster"""
    early_exit: bool = True
    """the encoder reads only answers whose verdict it could turn beside the features, which is faster; false: it reads all,
    and every row has a raw score"""
    backend: Literal["auto", "torch", "onnx", "openvino"] = "auto"
    """program that runs the encoder; `auto`: the fastest one that is installed"""
    precision: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    """number format of the encoder; `auto`: the fastest one of this machine"""
    num_shards: int = Field(1, ge=1)
    """judge a table in this many jobs side by side, each with rows of its own, and join them; for tables of a million answers"""

    @model_validator(mode="after")
    def _one_origin(self) -> BertJudgeConfig:
        if (self.dataset is None) == (self.checkpoint is None):
            raise ValueError("give either a dataset to train on or a checkpoint")
        if self.checkpoint and (useless := self.model_fields_set & {"backbone", "input", "training"}):
            raise ValueError(f"a checkpoint brings its own {' and '.join(sorted(useless))}; remove what is set here")
        return self
