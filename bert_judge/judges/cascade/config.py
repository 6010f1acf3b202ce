"""Settings of judges of kind `cascade`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share


class CascadeJudgeConfig(JudgeConfig):
    """Several judges in a row: each decides where it is sure and leaves the rest to the next. Say how right it must be, or how much
    the last one may see."""

    kind: Literal["cascade"]
    judges: Annotated[list[str], Field(min_length=2)]
    """names of judges, the cheapest first; the last one decides all that is left"""
    dataset: str
    """its validation rows tell where each judge is sure; their labels are the truth there"""
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    """least share of the validation rows with the right verdict, as cheaply as possible …"""
    budget: Share | None = None
    """… or largest share of them that the last judge sees, as right as possible"""

    @model_validator(mode="after")
    def _one_aim(self) -> CascadeJudgeConfig:
        if (self.accuracy is None) == (self.budget is None):
            raise ValueError("give either accuracy or budget")
        return self
