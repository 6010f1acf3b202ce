"""Pydantic models of the configuration: here its top level, without the blocks of the judges, which `plan.configuration` adds.

The JSON schema for editors and the reference in `docs/` are generated from them; a test fails if they differ. `bert_judge.plan`
derives the tables and jobs of a run from a configuration.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, JudgeConfig, ModelKey, Name, ProbeAspect
from bert_judge.config.datasets import Dataset, Filter, Mix, PairSet
from bert_judge.config.models import (
    HFModel,
    ImportedModel,
    Input,
    LocalModel,
    Model,
    OpenAIModel,
    Price,
    SimulatedModel,
    StudentModel,
    Style,
    Training,
    Tuning,
    VLLMModel,
)
from bert_judge.config.sources import AspectColumns, Columns, Family, Import, SuitedJudge, Tasks, TaskSource


class Audit(Block):
    """A sample of answers for human annotation, which corrects the accuracies and certifies the judges."""

    judge: str
    """judge whose scores the sample is drawn by, one of `scorers`"""
    size: int = Field(40, ge=10)
    """answers per model on each sheet"""
    design: Literal["uniform", "stratified", "neyman", "active"] = "uniform"
    """which answers are labelled first: `uniform`: all alike; `stratified`: as many of every range of scores; `neyman`: more where
    the scores leave most doubt; `active`: the same answer by answer"""
    seed: int = 0
    """seed of the sample"""
    labels: str | Annotated[list[str], Field(min_length=1)] | None = None
    """annotated sheet (CSV), or several, of several rounds or people; leave out until there is one"""
    labels_from: Literal["humans", "gold"] = "humans"
    """`gold`: use the verdicts of the gold judge as the annotations"""
    min_sensitivity: float = Field(0.8, gt=0, lt=1)
    """certificate of the judges: the lowest 95% bound of the sensitivity that passes"""
    min_specificity: float = Field(0.8, gt=0, lt=1)
    """the same for the specificity"""

    @property
    def sheets(self) -> list[str]:
        """Return the paths of `labels` as a list."""
        return [self.labels] if isinstance(self.labels, str) else list(self.labels or [])

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


class Config(Block):
    """A run: models, tasks, datasets and judges."""

    data: str | None = None
    """folder of the imported files; `$NAME` is an environment variable; default: the folder of the configuration file"""
    imports: dict[Name, Import] = {}
    """name → existing file of answers"""
    models: dict[ModelKey, Model] = Field(min_length=1)
    """name → model under test"""
    tasks: Tasks
    """training and test tasks"""
    task_files: list[str] = []
    """Python files with custom tasks; a relative path starts in the folder of the configuration file"""
    prompt_style: Literal["free", "soft", "strict"] = "free"
    """`free`: the question only; `soft`: ask to end with "Final answer: …"; `strict`: ask for nothing but "Final answer: …" """
    datasets: dict[Name, Dataset] = {}
    """name → training data of a judge"""
    judges: dict[Name, JudgeConfig] = Field(min_length=1)
    """name → judge; without `judges` and `scorers`, those that suit the tasks"""
    filters: dict[Name, Filter] = {}
    """name → selection of answers that students are trained on"""
    scorers: list[str] = Field(min_length=1)
    """judges in the score tables"""
    gold: str | None = None
    """judge that the others are measured against, for example human labels"""
    assumed_price: Price = Price(prompt=2.5, completion=10.0)
    """price of the tokens of a hypothetical LLM judge, for the cost comparison in the report"""
    currency: str = "USD"
    """currency of all prices"""
    audit: Audit | None = None
    """sample of answers for human annotation, which corrects the accuracies"""
    attacks: Attacks | None = None
    """synthetic answers that test the robustness of judges"""
    pairs: dict[Name, PairSet] = {}
    """name → pairs of answers, for pairwise judges"""
