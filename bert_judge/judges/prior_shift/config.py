"""Settings of judges of kind `prior_shift`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share


class PriorShiftJudgeConfig(JudgeConfig):
    """Another judge with prior-shift correction: the base rate of each model and task is estimated from the scores, which are
    shifted to it. For tasks that the judge was not trained on."""

    kind: Literal["prior_shift"]
    judge: str
    """name of the judge, of kind bert, llm or probe"""
    dataset: str | None = None
    """dataset whose validation rows give the prior; alternative to `prior`"""
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    """base rate that the judge was calibrated at; alternative to `dataset`"""
    prior_strength: float = Field(20.0, gt=0)
    """pseudo-count of answers at the prior, which limits the shift of small tables"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""

    @model_validator(mode="after")
    def _one_prior(self) -> PriorShiftJudgeConfig:
        if (self.dataset is None) == (self.prior is None):
            raise ValueError("give either dataset or prior")
        return self
