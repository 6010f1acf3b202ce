"""Judges of kind `pairwise`: which of two answers is better."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import Block, JudgeConfig, Share, Texts, as_list
from bert_judge.config.models import LanguageModel, LocalModel
from bert_judge.config.training import Training, Tuning

PairSets = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]

TRAINED = {"augment", "validation_fraction"}
ENCODER = {"revision", "backbone", "compare", "max_length", "training"}
PROMPTED = {"reasoning", "scores", "seed", "max_answer_chars"}
# Origin of a judge → further keys that may be set.
ORIGINS = {
    ("model",): PROMPTED,
    ("pairs",): TRAINED | ENCODER,
    ("model", "pairs"): TRAINED | PROMPTED | {"tuning"},
    ("checkpoint",): {"revision"},
    ("rule",): {"seed"},
}


class PairAugment(Block):
    """Data augmentation of pairs. Each number is a share of the training rows."""

    swap: Share = 0.0
    """swap the two answers, the label and their names in the question ("Assistant 1")"""
    both_orders: Share = 0.0
    """add a copy with swapped answers"""
    support_reference: Share = 0.0
    """add a copy whose first reference is part of the question"""
    drop_reference: Share = 0.0
    """remove the references"""


class PairwiseJudgeConfig(JudgeConfig):
    """A judge that compares two answers in both orders: a trained encoder, a prompted or fine-tuned language model, or a
    heuristic."""

    run_time: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["pairwise"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """language model to prompt, a block as under `models`; with `pairs`, it is first fine-tuned on their labels"""
    pairs: PairSets | None = None
    """sets of labelled pairs to train on"""
    checkpoint: str | None = None
    """trained pairwise judge: hub id or local folder"""
    rule: Literal["longer", "overlap", "random"] | None = None
    """heuristic baseline: `longer` prefers the longer answer, `overlap` the one that shares more words with a reference or,
    without one, with the question; `random` picks at random"""
    revision: str | None = None
    """commit of the hub repository of the backbone or checkpoint"""
    backbone: str = "minilm"
    """pretrained encoder: `minilm` (offline), a hub id or a local folder"""
    compare: Literal["symmetric", "pointwise", "single_order"] = "symmetric"
    """how the encoder scores a pair. `symmetric`: the difference of its outputs for the two orders; `pointwise`: the difference of
    its outputs for the two answers, read separately; `single_order`: one order at a time, without built-in symmetry"""
    max_length: int = Field(512, ge=16)
    """maximum input length in tokens, capped by the backbone's context window"""
    training: Training = Training()
    """training settings of the encoder"""
    tuning: Tuning = Tuning()
    """fine-tuning settings of the language model, with both `pairs` and `model`"""
    augment: PairAugment = PairAugment()
    """data augmentation"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the questions held out for metrics and for fitting the encoder's tie model"""
    reasoning: bool = True
    """language model: explain the comparison, before the verdict or after the scores"""
    scores: bool = False
    """language model: write a score for each answer instead of a verdict; required for fine-tuning"""
    seed: int = 0
    """seed of the random delimiters around the answers (language model) or of the random picks (`random`)"""
    max_answer_chars: int = Field(20_000, ge=200)
    """language model: maximum length of an answer in characters; the middle of longer answers is cut"""

    @property
    def tuned(self) -> bool:
        """True if the language model is fine-tuned on labelled pairs before it is prompted."""
        return self.model is not None and self.pairs is not None

    @model_validator(mode="after")
    def _one_origin(self) -> PairwiseJudgeConfig:
        origins = {name for names in ORIGINS for name in names}
        configured = tuple(sorted(origin for origin in origins if getattr(self, origin) is not None))
        if configured not in ORIGINS:
            raise ValueError("give one of model (to prompt), pairs (to train on), both (to tune the model), checkpoint and rule")
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per order; remove model.attempts")
        elsewhere = {name for settings in ORIGINS.values() for name in settings} | origins
        if wrong := (self.model_fields_set & elsewhere) - ORIGINS[configured] - set(configured):
            raise ValueError(
                f"{' and '.join(sorted(wrong))} cannot be combined with {' and '.join(configured)}; remove what is set here"
            )
        return self

    @model_validator(mode="after")
    def _can_be_tuned(self) -> PairwiseJudgeConfig:
        if not self.tuned:
            return self
        if not isinstance(self.model, LocalModel):
            raise ValueError("a model behind an address cannot be tuned here; give one of generator hf or vllm, or leave pairs out")
        if not self.scores:
            raise ValueError("a model that is tuned on pairs learns to write scores; add scores: true")
        if self.model.thinking:
            raise ValueError("a model that is tuned on pairs writes its scores at once; set model.thinking: false")
        return self
