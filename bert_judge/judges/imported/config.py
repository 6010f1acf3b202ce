"""Settings of judges of kind `imported`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bert_judge.config.base import JudgeConfig, Names


class ImportedJudgeConfig(JudgeConfig):
    """Labels imported from a file, for example human labels."""

    kind: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or a list of names"""
