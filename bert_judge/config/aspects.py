"""Aspects: what is judged apart, each on a scale of its own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import Block, Name


class Aspect(Block):
    """One thing that is judged apart, on a scale of its own."""

    description: str | None = None
    """what a high value says, in one sentence; it is shown where a prompt names the aspect"""
    range: tuple[int, int] = (1, 5)
    """lowest and highest value of the labels"""

    @model_validator(mode="after")
    def _rising(self) -> Aspect:
        low, high = self.range
        if high <= low:
            raise ValueError(f"range {[low, high]} is empty; the first number must be the smaller")
        return self


class ProbeAspect(Aspect):
    """An aspect, and what kind of classifier tells it."""

    head: Literal["binary", "classes", "ordinal"] = "ordinal"
    """`ordinal`: classes in an order; `classes`: without one; `binary`: good or not"""
    positive_from: float | None = None
    """lowest value that counts as good, for the head `binary`; the middle of the range when left out"""

    @model_validator(mode="after")
    def _cut_inside(self) -> ProbeAspect:
        low, high = self.range
        if self.positive_from is not None and self.head != "binary":
            raise ValueError(f"positive_from is for the head binary, and this one is {self.head}; remove it")
        if self.positive_from is not None and not low < self.positive_from <= high:
            raise ValueError(f"positive_from {self.positive_from:g} parts nothing; give a value above {low} and up to {high}")
        return self


# The five aspects in which ROSCOE grades reasoning (arXiv 2212.07919), as Representation-as-a-Judge uses them.
ROSCOE = {
    "semantic_consistency": "the steps follow from the question and from each other, and contradict neither",
    "logicality": "the reasoning is valid: no step is missing, circular or a leap",
    "informativeness": "every step brings what the answer needs, and nothing needed is left out",
    "fluency": "the text is well formed, clear and free of repetition",
    "factuality": "what is claimed is true, numbers and names included",
}


def roscoe() -> dict[str, ProbeAspect]:
    """The default aspects, each from 1 to 5."""
    return {name: ProbeAspect(description=description) for name, description in ROSCOE.items()}


def named(value: Any) -> Any:
    """The word `roscoe`, or a list of names, as name → aspect; ROSCOE's names bring their description along."""
    names = list(ROSCOE) if value == "roscoe" else value
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return {name: {"description": ROSCOE.get(name)} for name in names}
    return value


# What may be written as `roscoe`, as a list of names, or with meanings and ranges.
Aspects = Annotated[
    dict[Name, Aspect],
    Field(min_length=1),
    BeforeValidator(named, json_schema_input_type=Literal["roscoe"] | list[Name] | dict[Name, Aspect]),
]
