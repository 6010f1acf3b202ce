"""Settings of judges of kind `prior_shift`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share


class PriorShiftJudgeConfig(JudgeConfig):
    """Another judge whose scores are fitted to each model and task: how many answers are right there is told from the scores
    themselves, and moves them. For tasks that the judge never saw."""

    kind: Literal["prior_shift"]
    judge: str
    """name of the judge, of kind bert, llm or probe"""
    dataset: str | None = None
    """its validation rows tell which share of right answers the judge's scores take for granted …"""
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    """… or say it here"""
    prior_strength: float = Field(20.0, gt=0)
    """so many answers with that share are counted beside those of the table: a table of few answers moves little"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""

    @model_validator(mode="after")
    def _one_prior(self) -> PriorShiftJudgeConfig:
        if (self.dataset is None) == (self.prior is None):
            raise ValueError("give either dataset or prior")
        return self
