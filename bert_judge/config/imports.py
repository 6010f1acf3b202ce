"""`imports`: files of answers that exist already."""

from __future__ import annotations

from typing import Literal

from bert_judge.config.blocks import Block, Value

Format = Literal["auto", "parquet", "csv", "jsonl", "lm_eval", "lighteval", "inspect", "helm", "judgelm", "representation_judge"]


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


class Import(Block):
    """A file of answers, with or without verdicts, that exists already."""

    path: str
    """parquet, CSV or JSONL file, or one that a framework wrote; relative to `data`"""
    format: Format = "auto"
    """`auto` goes by the file's ending, and knows the frameworks' files by their content"""
    columns: Columns = Columns()
    """the file's column names"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""
