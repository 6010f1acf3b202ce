"""Judges of kind `pairwise`: which of two answers is better."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import JudgeConfig, Texts, as_list
from bert_judge.config.models import LanguageModel
from bert_judge.config.training import Training

PairSets = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]

# Origin of a judge → further keys that may be set.
ORIGINS = {
    "model": {"reasoning", "seed", "max_answer_chars"},
    "pairs": {"revision", "backbone", "max_length", "training", "validation_fraction"},
    "checkpoint": {"revision"},
    "rule": {"seed"},
}


class PairwiseJudgeConfig(JudgeConfig):
    """A judge that compares two answers in both orders: a trained encoder, a prompted language model, or a heuristic."""

    run_time: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["pairwise"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """language model to prompt, a block as under `models`"""
    pairs: PairSets | None = None
    """sets of labelled pairs to train an encoder on"""
    checkpoint: str | None = None
    """trained pairwise judge: hub id or local folder"""
    rule: Literal["longer", "overlap", "random"] | None = None
    """heuristic baseline: `longer` prefers the longer answer, `overlap` the one that shares more words with a reference or,
    without one, with the question; `random` picks at random"""
    revision: str | None = None
    """commit of the hub repository of the backbone or checkpoint"""
    backbone: str = "minilm"
    """pretrained encoder: `minilm` (offline), a hub id or a local folder"""
    max_length: int = Field(512, ge=16)
    """maximum input length in tokens, capped by the backbone's context window"""
    training: Training = Training()
    """training settings of the encoder"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the questions held out for metrics and for fitting the encoder's tie model"""
    reasoning: bool = True
    """language model: explain the comparison before the verdict"""
    seed: int = 0
    """seed of the random delimiters around the answers (language model) or of the random picks (`random`)"""
    max_answer_chars: int = Field(20_000, ge=200)
    """language model: maximum length of an answer in characters; the middle of longer answers is cut"""

    @model_validator(mode="after")
    def _one_origin(self) -> PairwiseJudgeConfig:
        configured = [origin for origin in ORIGINS if getattr(self, origin) is not None]
        if len(configured) != 1:
            raise ValueError("give one of model (to prompt), pairs (to train on), checkpoint and rule")
        [origin] = configured
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per order; remove model.attempts")
        elsewhere = {name for settings in ORIGINS.values() for name in settings}
        if wrong := (self.model_fields_set & elsewhere) - ORIGINS[origin]:
            raise ValueError(f"{' and '.join(sorted(wrong))} cannot be combined with {origin}; remove what is set here")
        return self
