"""`audit` and `attacks`: how judges are checked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block


class Audit(Block):
    """A sample of answers for human annotation, which corrects the accuracies under the judges."""

    judge: str
    """judge whose scores stratify the sample, one of `scorers`"""
    size: int = Field(40, ge=10)
    """answers to sample per model"""
    seed: int = 0
    """seed of the sample"""
    labels: str | None = None
    """annotated sheet (CSV); leave out until there is one"""
    labels_from: Literal["humans", "gold"] = "humans"
    """`gold`: use the verdicts of the gold judge as the annotations"""

    @model_validator(mode="after")
    def _check_single_source(self) -> Audit:
        if self.labels is not None and self.labels_from == "gold":
            raise ValueError("labels come from the file or from gold; remove labels or labels_from")
        return self


class Attacks(Block):
    """Synthetic answers that test judges: incorrect answers that claim to be correct, and correct answers in unusual formats."""

    judges: Annotated[list[str], Field(min_length=1)]
    """judges to attack, of kind bert, lexical or llm, or cascades of them"""
    tasks: Annotated[list[str], Field(min_length=1)] | Literal["all"] = "all"
    """tasks that provide the questions, out of `tasks.test`"""
    rows: int = Field(150, gt=0)
    """questions per task; each gets about sixty answers"""
    seed: int = 0
    """seed of the sample of questions and of the answers"""
