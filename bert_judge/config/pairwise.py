"""Judges of kind `pairwise`: which of two answers is better."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.blocks import Block, Share, Texts, as_list
from bert_judge.config.encoder import Training
from bert_judge.config.models import LanguageModel

PairSets = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]

TRAINED = {"pairs", "checkpoint", "revision", "backbone", "compare", "max_length", "training", "augment", "validation"}
PROMPTED = {"reasoning", "scores", "seed", "max_answer_chars"}
# What may be set besides the origin itself.
ORIGINS = {
    "model": PROMPTED,
    "pairs": TRAINED - {"checkpoint", "pairs"},
    "checkpoint": {"revision"},
    "rule": {"seed"},
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


class PairwiseJudge(Block):
    """Which of two answers is better, each shown in both places: by a trained encoder, a prompted language model, or a rule."""

    run_time: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["pairwise"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """prompt this model: a block as under `models` …"""
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
    compare: Literal["mirrored", "apart", "ordered"] = "mirrored"
    """how the encoder reads a pair. `mirrored`: both orders, and their difference counts; `apart`: each answer alone, and their
    difference counts; `ordered`: one order at a time, so that only training can make it see both alike"""
    max_length: int = Field(512, ge=16)
    """longest input in tokens; the backbone's window when that is shorter"""
    training: Training = Training()
    """how the encoder is fitted"""
    augment: PairAugment = PairAugment()
    """what is done to the rows that it is trained on"""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the questions kept to learn when two answers tie, and for metrics"""
    reasoning: bool = True
    """a prompted model writes down the comparison, before the verdict or after the scores; false: nothing but these"""
    scores: bool = False
    """a prompted model writes a score for each answer, before anything else, in place of a verdict"""
    seed: int = 0
    """a prompted model: another seed, another fence around the answers; `random`: other draws"""
    max_answer_chars: int = Field(20_000, ge=200)
    """a prompted model: longest answer that is shown whole, in characters; of a longer one the middle is left out"""

    @model_validator(mode="after")
    def _one_origin(self) -> PairwiseJudge:
        given = [origin for origin in ORIGINS if getattr(self, origin) is not None]
        if len(given) != 1:
            raise ValueError("give one of model (to prompt), pairs (to train on), checkpoint and rule")
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per order; remove model.attempts")
        if wrong := (self.model_fields_set & (TRAINED | PROMPTED)) - ORIGINS[given[0]] - {given[0]}:
            raise ValueError(f"{' and '.join(sorted(wrong))} does not go with {given[0]}; remove what is set here")
        return self
