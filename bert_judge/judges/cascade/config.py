"""Settings of judges of kind `cascade`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share


class CascadeJudgeConfig(JudgeConfig):
    """A cascade of judges: each decides where it is confident and escalates the rest to the next. Set either `accuracy` or
    `budget`."""

    kind: Literal["cascade"]
    judges: Annotated[list[str], Field(min_length=2)]
    """names of judges, cheapest first; the last one decides everything escalated to it"""
    dataset: str
    """dataset whose validation rows are used to fit the confidence threshold"""
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    """minimum accuracy on the validation rows, at the lowest cost; alternative to `budget`"""
    budget: Share | None = None
    """maximum share of the validation rows escalated to the last judge, at the highest accuracy; alternative to `accuracy`"""

    @model_validator(mode="after")
    def _one_aim(self) -> CascadeJudgeConfig:
        if (self.accuracy is None) == (self.budget is None):
            raise ValueError("give either accuracy or budget")
        return self
