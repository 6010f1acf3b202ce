"""`datasets`: labelled answers that train a judge."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bert_judge.config.blocks import Block, Name


class Mix(Block):
    """How many rows of a dataset come from where."""

    per_task: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a task"""
    per_model: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a model"""
    total: Annotated[int, Field(gt=0)] | None = None
    """at most this many rows in all"""


class Dataset(Block):
    """Labelled answers that train a judge."""

    teacher: str
    """the judge whose labels are learnt"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models; with `all`, a new model retrains the judge"""
    mix: Mix = Mix()
    """limits per task and model"""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """share of the questions kept for calibration and metrics"""
    balance: bool = False
    """weight the rows so that right and wrong answers count alike"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw"""
