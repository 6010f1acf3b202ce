"""Settings of judges of kind `llm`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.aspects import Aspects
from bert_judge.config.base import JudgeConfig, Share
from bert_judge.config.models import LanguageModel


class LLMJudgeConfig(JudgeConfig):
    """A prompted language model that compares the answer with the references, or grades it on several aspects without them."""

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    reasoning: bool = True
    """write down the comparison before the verdict; false: the verdict alone, which is cheaper and can be a probability"""
    aspects: Aspects | None = None
    """grade these instead of comparing with references, all in one call: `roscoe` for its five, a list of names, or each with its
    meaning and range; the score is the mean of the grades, each scaled to its range"""
    threshold: Share = 0.5
    """lowest probability of "correct", where the back end gives probabilities, or lowest mean grade, that counts as correct"""
    seed: int = 0
    """another seed, another fence around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """longest answer that is shown whole, in characters; of a longer one the middle is left out"""

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudgeConfig:
        if self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self
