"""Aspects of an answer, each with its own scale."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import Block, Name


class Aspect(Block):
    """An aspect of an answer, for example fluency, with its own scale."""

    description: str | None = None
    """what a high value means, in one sentence; used in prompts that name the aspect"""
    range: tuple[int, int] = (1, 5)
    """lowest and highest label"""

    @model_validator(mode="after")
    def _check_range(self) -> Aspect:
        low, high = self.range
        if high <= low:
            raise ValueError(f"range {[low, high]} is empty; the first number must be the smaller")
        return self


class ProbeAspect(Aspect):
    """An aspect and the type of its classifier."""

    head: Literal["binary", "classes", "ordinal"] = "ordinal"
    """`ordinal`: ordered classes; `classes`: unordered classes; `binary`: positive or negative"""
    positive_from: float | None = None
    """for the head `binary`: lowest label that counts as positive; default: the middle of the range"""

    @model_validator(mode="after")
    def _check_positive_from(self) -> ProbeAspect:
        low, high = self.range
        if self.positive_from is not None and self.head != "binary":
            raise ValueError(f"positive_from is for the head binary, and this one is {self.head}; remove it")
        if self.positive_from is not None and not low < self.positive_from <= high:
            raise ValueError(f"positive_from {self.positive_from:g} is outside the range; set a value above {low} and up to {high}")
        return self


# The five aspects of ROSCOE for grading reasoning (arXiv 2212.07919), as Representation-as-a-Judge uses them.
ROSCOE = {
    "semantic_consistency": "the steps follow from the question and from each other, and contradict neither",
    "logicality": "the reasoning is valid: no step is missing, circular or a leap",
    "informativeness": "every step brings what the answer needs, and nothing needed is left out",
    "fluency": "the text is well formed, clear and free of repetition",
    "factuality": "what is claimed is true, numbers and names included",
}


def roscoe() -> dict[str, ProbeAspect]:
    """Return the default aspects, each from 1 to 5."""
    return {name: ProbeAspect(description=description) for name, description in ROSCOE.items()}


def expand_names(value: Any) -> Any:
    """Return `roscoe` or a list of names as name → aspect; names of ROSCOE come with their description."""
    names = list(ROSCOE) if value == "roscoe" else value
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return {name: {"description": ROSCOE.get(name)} for name in names}
    return value


# Written as `roscoe`, as a list of names, or with descriptions and ranges.
Aspects = Annotated[
    dict[Name, Aspect],
    Field(min_length=1),
    BeforeValidator(expand_names, json_schema_input_type=Literal["roscoe"] | list[Name] | dict[Name, Aspect]),
]
