"""`attacks`: made-up answers that try to fool judges."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bert_judge.config.base import Block


class Attacks(Block):
    """Made-up answers, wrong ones that claim to be right and right ones in unusual dress, on which judges are tried."""

    judges: Annotated[list[str], Field(min_length=1)]
    """judges that are tried, of the kinds that look at answers: bert, lexical, llm, and cascades of them"""
    tasks: Annotated[list[str], Field(min_length=1)] | Literal["all"] = "all"
    """tasks whose questions are used, out of `tasks.test`"""
    rows: int = Field(150, gt=0)
    """questions of each task; each gets about sixty answers"""
    seed: int = 0
    """another seed, other questions and other draws"""
