"""`audit`, `attacks` and `pairs`: how judges are checked, and pairs of answers that they compare."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share, Value


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
