"""`audit`: people's labels on a few answers, which correct what a judge says of all."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block


class Audit(Block):
    """People's labels on a few answers, which correct what a judge says of all."""

    judge: str
    """the judge that is corrected first, out of `scorers`; its scores order the draw"""
    size: int = Field(40, ge=10)
    """answers drawn of each model"""
    seed: int = 0
    """another seed, another draw"""
    labels: str | None = None
    """the sheet that people filled (CSV); left out until there is one"""
    labels_from: Literal["humans", "gold"] = "humans"
    """`gold`: the verdicts of the gold judge on the drawn answers stand in for people's"""

    @model_validator(mode="after")
    def _one_origin(self) -> Audit:
        if self.labels is not None and self.labels_from == "gold":
            raise ValueError("labels come from the file or from gold; remove labels or labels_from")
        return self
