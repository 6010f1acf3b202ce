"""`pairs`: sets of two answers to one question."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share, Value

FROM_CANDIDATES = {"tasks", "models", "schedule", "baseline", "opponents", "rows", "gold", "seed"}
FROM_FILE = {"where", "question_split"}


class PairSet(Block):
    """Pairs of answers to the same question, from models of this run or from a file."""

    source: str | None = Field(None, alias="from")
    """name of an import with pairs; alternative to `tasks`"""
    where: dict[str, Value | list[Value]] = {}
    """with `from`: column → value or list of values; other rows are ignored"""
    question_split: tuple[Share, Share] = (0.0, 1.0)
    """with `from`: interval of questions; a hash of its text assigns each question a number in [0, 1)"""
    tasks: list[str] = []
    """tasks whose answers are paired; alternative to `from`"""
    models: list[str] | Literal["all"] = "all"
    """with `tasks`: models whose answers are paired"""
    schedule: Literal["all", "baseline", "sampled"] = "all"
    """which models are compared: `all` with each other, each with `baseline`, or `sampled` opponents for each"""
    baseline: str | None = None
    """model that all others are compared with"""
    opponents: int = Field(3, gt=0)
    """`sampled`: number of opponents per model, from the models listed before it, those with the fewest comparisons first"""
    rows: Annotated[int, Field(gt=0)] | None = None
    """maximum number of questions per pair of models; a higher limit keeps the same questions"""
    gold: str | None = None
    """pointwise judge that labels the pairs: a correct answer beats an incorrect one, otherwise a tie"""
    judges: list[str] = []
    """pairwise judges that compare these pairs"""
    seed: int = 0
    """seed of the questions, of the opponents and of the order of the two answers"""

    @model_validator(mode="after")
    def _check_source(self) -> PairSet:
        if (self.source is None) == (not self.tasks):
            raise ValueError("give either `from` (pairs of a file) or `tasks` (answers of this run)")
        if useless := self.model_fields_set & (FROM_CANDIDATES if self.source else FROM_FILE):
            raise ValueError(
                f"{' and '.join(sorted(useless))} cannot be combined with {'`from`' if self.source else '`tasks`'}; remove it"
            )
        if (self.schedule == "baseline") != (self.baseline is not None):
            raise ValueError("set both schedule: baseline and the name under `baseline`, or neither")
        if self.question_split[0] >= self.question_split[1]:
            raise ValueError(f"question_split: {list(self.question_split)} is empty; the first number must be the smaller")
        return self
