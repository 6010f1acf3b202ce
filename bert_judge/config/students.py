"""`filters`: training data for language models, chosen by a judge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import Block

# In the place of a judge's name: no judge at all.
RANDOM, EVERYTHING = "random", "all"
CONTROLS = (RANDOM, EVERYTHING)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Percent = Annotated[float, Field(ge=0.01, le=100)]
PercentList = Annotated[list[Percent], Field(min_length=1)]
Percents = Annotated[PercentList, BeforeValidator(_listed, json_schema_input_type=Percent | PercentList)]


class Filter(Block):
    """Which answers to training questions a student learns from."""

    judge: str
    """whose scores decide: a judge, `random` for a draw, or `all` for no choice"""
    keep: Percents | None = None
    """percent of the answers that are kept, the best ones; with a list, one table and one student for each"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """whose answers; `all`: of every model that is no student"""
    per_question: Annotated[int, Field(gt=0)] | None = 1
    """most answers to one question, the best ones; `null`: any number"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw, which also parts equal scores"""

    @model_validator(mode="after")
    def _says_how_much(self) -> Filter:
        if self.judge == EVERYTHING and self.keep not in (None, [100]):
            raise ValueError("with judge `all` nothing is chosen; leave keep out")
        if self.judge != EVERYTHING and self.keep is None:
            raise ValueError("keep is missing: say how many percent of the answers are kept")
        if repeated := [percent for percent in self.percents if self.percents.count(percent) > 1]:
            raise ValueError(f"keep lists {repeated[0]:g} twice; remove one")
        return self

    @property
    def percents(self) -> list[float]:
        """The percentages, each of which makes a table."""
        return self.keep or [100.0]
