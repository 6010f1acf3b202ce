"""Settings of judges of kind `llm`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Aspects, JudgeConfig, Share
from bert_judge.config.models import LanguageModel


class LLMJudgeConfig(JudgeConfig):
    """A prompted language model that compares the answer with the references, or grades aspects without references."""

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    reasoning: bool = True
    """explain the comparison before the verdict; false: the verdict only, which is cheaper and can be a probability"""
    aspects: Aspects | None = None
    """grade these aspects in one call instead of comparing with references: `roscoe`, a list of names, or names with description
    and range; the score is the mean of the grades, each scaled to [0, 1]"""
    threshold: Share = 0.5
    """lowest score that counts as correct: a probability if the backend returns log-probabilities, or the mean grade"""
    seed: int = 0
    """seed of the random delimiters around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """maximum length of an answer in characters; the middle of longer answers is cut"""

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudgeConfig:
        if self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self
