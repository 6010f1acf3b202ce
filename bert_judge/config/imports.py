"""`imports`: files of answers that exist already."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from bert_judge.config.base import Block, Name, Value
from bert_judge.config.pairs import PairColumns

Format = Literal[
    "auto", "parquet", "csv", "jsonl", "lm_eval", "lighteval", "inspect", "helm", "judgelm", "mm_vet", "representation_judge"
]


class Columns(Block):
    """Which column of a file holds what. A column that the file lacks and nobody needs may be left out."""

    question: str = "question"
    """the question"""
    references: str = "references"
    """right answers: a list, or one text"""
    candidate: str = "candidate"
    """the model's answer"""
    model: str = "model"
    """the model's name"""
    label: str = "label"
    """a verdict: 1/0, true/false, correct/incorrect, a share in [0, 1], or empty for "no verdict" """
    choices: str | None = None
    """answer options: a list"""
    id: str | None = None
    """an identifier of the row, unique in the file"""


class AspectColumns(Block):
    """Where a file holds what people, or a program, said of aspects; they are a verdict too: the mean of all, each from 0 to 1."""

    columns: dict[Name, str] = {}
    """aspect → column of its values, of a file with a row per answer"""
    name: str | None = None
    """column of an aspect's name, of a file with a row per answer and aspect …"""
    value: str | None = None
    """… and the column of its value"""
    range: tuple[float, float] = (1, 5)
    """lowest and highest value"""

    @model_validator(mode="after")
    def _one_shape(self) -> AspectColumns:
        if (self.name is None) != (self.value is None):
            raise ValueError("name and value go together; give both or neither")
        if bool(self.columns) == (self.name is not None):
            raise ValueError("a file has a row per answer (columns) or per answer and aspect (name, value); give one of the two")
        if self.range[0] >= self.range[1]:
            raise ValueError(f"range {list(self.range)} is empty; the first number must be the smaller")
        return self


class Import(Block):
    """A file of answers, with or without verdicts, that exists already."""

    path: str
    """parquet, CSV or JSONL file, or one that a framework wrote; relative to `data`"""
    format: Format = "auto"
    """`auto` goes by the file's ending, and knows the frameworks' files by their content"""
    columns: Columns = Columns()
    """the file's column names, where a row is one answer"""
    pair_columns: PairColumns = PairColumns()
    """the file's column names, where a row is two answers"""
    aspects: AspectColumns | None = None
    """where the file holds values of aspects, if it does"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""
