"""`pairs`: sets of two answers to one question, and the columns of the files that hold such pairs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Share, Value

FROM_CANDIDATES = {"tasks", "models", "schedule", "baseline", "opponents", "rows", "gold", "seed"}
FROM_FILE = {"where", "question_split"}


class PairColumns(Block):
    """Which column of a file holds what, where a row is two answers. Only the first three must be there."""

    question: str = "question"
    """the question"""
    answer_a: str = "answer_a"
    """the first answer"""
    answer_b: str = "answer_b"
    """the second answer"""
    references: str = "reference"
    """right or good answers: a list, or one text"""
    model_a: str = "model_a"
    """who gave the first answer"""
    model_b: str = "model_b"
    """who gave the second"""
    label: str = "label"
    """the better one: A, B or tie; also 1, 2 and 0; or empty"""
    votes: str = "votes"
    """the same from several people: a list, or one text with commas"""
    task: str = "task"
    """a group of rows in the file; agreement is told per group"""
    reason: str | None = None
    """why the label is what it is, in words that a language model can learn to write; left out: none"""


class PairSet(Block):
    """Two answers to each question: of models of this run, or of a file."""

    source: str | None = Field(None, alias="from")
    """name of an import: the pairs of a file …"""
    where: dict[str, Value | list[Value]] = {}
    """… those rows of it whose column has this value, or one of these values"""
    question_split: tuple[Share, Share] = (0.0, 1.0)
    """… part of its questions: each falls on a fixed point between 0 and 1 that depends on its text only"""
    tasks: list[str] = []
    """or the answers to these tasks …"""
    models: list[str] | Literal["all"] = "all"
    """… of these models"""
    schedule: Literal["all", "baseline", "sampled"] = "all"
    """which models meet: `all`; each with a `baseline`; `sampled`: each with some of those before it in the configuration"""
    baseline: str | None = None
    """the model that all others meet"""
    opponents: int = Field(3, gt=0)
    """`sampled`: how many of those before it a model meets; those that met fewest so far"""
    rows: Annotated[int, Field(gt=0)] | None = None
    """at most this many questions for two models; always the same ones, and a higher limit keeps them"""
    gold: str | None = None
    """a judge of single answers whose verdicts label the pairs: a right answer beats a wrong one, two of a kind tie"""
    judges: list[str] = []
    """judges of kind pairwise that compare these pairs"""
    seed: int = 0
    """another seed, other questions and opponents, and other places of the two answers"""

    @model_validator(mode="after")
    def _one_origin(self) -> PairSet:
        if (self.source is None) == (not self.tasks):
            raise ValueError("give either `from` (pairs of a file) or `tasks` (answers of this run)")
        if useless := self.model_fields_set & (FROM_CANDIDATES if self.source else FROM_FILE):
            raise ValueError(
                f"{' and '.join(sorted(useless))} does not go with {'`from`' if self.source else '`tasks`'}; remove it"
            )
        if (self.schedule == "baseline") != (self.baseline is not None):
            raise ValueError("schedule: baseline and the name under `baseline` go together; give both or neither")
        if self.question_split[0] >= self.question_split[1]:
            raise ValueError(f"question_split: {list(self.question_split)} is empty; the first number must be the smaller")
        return self
