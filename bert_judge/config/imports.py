"""`imports`: existing files of answers."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from bert_judge.config.base import Block, Name, Value

Format = Literal[
    "auto", "parquet", "csv", "jsonl", "lm_eval", "lighteval", "inspect", "helm", "judgelm", "mm_vet", "representation_judge"
]


class Columns(Block):
    """Column names of a file with one answer per row. Columns that are missing and not needed are ignored."""

    question: str = "question"
    """the question"""
    references: str = "references"
    """reference answers: a list or a single text"""
    candidate: str = "candidate"
    """the model's answer"""
    model: str = "model"
    """the model's name"""
    label: str = "label"
    """verdict: 1/0, true/false, correct/incorrect, a number in [0, 1], or empty for no verdict"""
    choices: str | None = None
    """list of answer options"""
    id: str | None = None
    """row id, unique in the file"""


class PairColumns(Block):
    """Column names of a file with two answers per row. Only the first three columns are required."""

    question: str = "question"
    """the question"""
    answer_a: str = "answer_a"
    """the first answer"""
    answer_b: str = "answer_b"
    """the second answer"""
    references: str = "reference"
    """reference answers: a list or a single text"""
    model_a: str = "model_a"
    """model of the first answer"""
    model_b: str = "model_b"
    """model of the second answer"""
    label: str = "label"
    """better answer: A, B or tie (or 1, 2, 0), or empty"""
    votes: str = "votes"
    """labels of several annotators: a list or a comma-separated text"""
    task: str = "task"
    """group of rows; agreement is reported per group"""
    reason: str | None = None
    """explanation of the label, which a language model can be trained to write; optional"""


class AspectColumns(Block):
    """Columns with labels of aspects. Their mean, scaled to [0, 1], is also used as the verdict."""

    columns: dict[Name, str] = {}
    """aspect → column, for a file with one row per answer"""
    name: str | None = None
    """column with the aspect's name, for a file with one row per answer and aspect"""
    value: str | None = None
    """column with the aspect's value, used with `name`"""
    range: tuple[float, float] = (1, 5)
    """lowest and highest label"""

    @model_validator(mode="after")
    def _check_single_layout(self) -> AspectColumns:
        if (self.name is None) != (self.value is None):
            raise ValueError("set both name and value, or neither")
        if bool(self.columns) == (self.name is not None):
            raise ValueError("set either columns (one row per answer) or name and value (one row per answer and aspect)")
        if self.range[0] >= self.range[1]:
            raise ValueError(f"range {list(self.range)} is empty; the first number must be the smaller")
        return self


class Import(Block):
    """An existing file of answers, with or without labels."""

    path: str
    """parquet, CSV or JSONL file, or the output of an evaluation framework; relative to `data`"""
    format: Format = "auto"
    """`auto` uses the file extension and recognises files of frameworks by their content"""
    columns: Columns = Columns()
    """column names, for one answer per row"""
    pair_columns: PairColumns = PairColumns()
    """column names, for two answers per row"""
    aspects: AspectColumns | None = None
    """columns with labels of aspects"""
    where: dict[str, Value | list[Value]] = {}
    """column → value or list of values; other rows are ignored"""
