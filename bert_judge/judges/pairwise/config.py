"""Judges of kind `pairwise`: which of two answers is better."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import Block, JudgeConfig, Share, Texts, as_list
from bert_judge.config.encoder import Training
from bert_judge.config.models import LanguageModel, LocalModel
from bert_judge.config.tuning import Tuning

PairSets = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]

LEARNT = {"augment", "validation_fraction"}
ENCODER = {"revision", "backbone", "compare", "max_length", "training"}
PROMPTED = {"reasoning", "scores", "seed", "max_answer_chars"}
# Where a judge comes from → what may be set besides.
ORIGINS = {
    ("model",): PROMPTED,
    ("pairs",): LEARNT | ENCODER,
    ("model", "pairs"): LEARNT | PROMPTED | {"tuning"},
    ("checkpoint",): {"revision"},
    ("rule",): {"seed"},
}


class PairAugment(Block):
    """Made-up rows to train on. Each number is the share of the training rows that it befalls."""

    swap: Share = 0.0
    """the two answers change places, and with them the label and what the question calls them ("Assistant 1")"""
    both_orders: Share = 0.0
    """a row gets a copy in which the two answers have changed places, so that training sees both orders of the pair"""
    support_reference: Share = 0.0
    """a row with references gets a copy whose first one stands in the question's own text"""
    drop_reference: Share = 0.0
    """a row with references loses them"""


class PairwiseJudgeConfig(JudgeConfig):
    """Which of two answers is better, each shown in both places: by a trained encoder, a language model, prompted as it is or tuned
    before, or a rule."""

    run_time: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["pairwise"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """prompt this model: a block as under `models`; with `pairs`, tune it first on their labels, and ask it then …"""
    pairs: PairSets | None = None
    """… or train an encoder on the labels of these sets of pairs …"""
    checkpoint: str | None = None
    """… or take one that was trained: hub id or local folder …"""
    rule: Literal["longer", "overlap", "random"] | None = None
    """… or go by a rule, as a floor for the others: `longer` prefers the longer answer, `overlap` the one with more words
    in common with a reference or, without one, with the question; `random` draws"""
    revision: str | None = None
    """commit of the hub repository of backbone or checkpoint"""
    backbone: str = "minilm"
    """`minilm` (offline), a hub id or a local folder of an encoder"""
    compare: Literal["symmetric", "pointwise", "single_order"] = "symmetric"
    """how the encoder scores a pair. `symmetric`: the difference of its outputs for the two orders; `pointwise`: the difference of
    its outputs for the two answers, read separately; `single_order`: one order at a time, without built-in symmetry"""
    max_length: int = Field(512, ge=16)
    """longest input in tokens; the backbone's window when that is shorter"""
    training: Training = Training()
    """how the encoder is fitted"""
    tuning: Tuning = Tuning()
    """how a language model is fitted, where `pairs` and `model` are both given"""
    augment: PairAugment = PairAugment()
    """what is done to the rows that it is trained on"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the questions kept for metrics, and for an encoder to learn when two answers tie"""
    reasoning: bool = True
    """a language model writes down the comparison, before the verdict or after the scores; false: nothing but these"""
    scores: bool = False
    """a language model writes a score for each answer, before anything else, in place of a verdict; a tuned one must"""
    seed: int = 0
    """a language model: another seed, another fence around the answers; `random`: other draws"""
    max_answer_chars: int = Field(20_000, ge=200)
    """a language model: longest answer that is shown whole, in characters; of a longer one the middle is left out"""

    @property
    def tuned(self) -> bool:
        """Whether a language model is fitted to the labels before it is asked."""
        return self.model is not None and self.pairs is not None

    @model_validator(mode="after")
    def _one_origin(self) -> PairwiseJudgeConfig:
        origins = {name for names in ORIGINS for name in names}
        given = tuple(sorted(origin for origin in origins if getattr(self, origin) is not None))
        if given not in ORIGINS:
            raise ValueError("give one of model (to prompt), pairs (to train on), both (to tune the model), checkpoint and rule")
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per order; remove model.attempts")
        elsewhere = {name for settings in ORIGINS.values() for name in settings} | origins
        if wrong := (self.model_fields_set & elsewhere) - ORIGINS[given] - set(given):
            raise ValueError(f"{' and '.join(sorted(wrong))} does not go with {' and '.join(given)}; remove what is set here")
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
