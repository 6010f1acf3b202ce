"""Base classes and common types of the configuration models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from bert_judge.runtime.package_data import read_yaml

# Relations between names, and the default of `augment`.
NAMES: dict[str, Any] = read_yaml(Path(__file__).with_name("names.yaml"))
# A name becomes a folder name and a column name.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=100)]
# A model's key may contain `*`: it then stands for all models of its files with a matching name.
ModelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9*][A-Za-z0-9._+*-]*$", max_length=100)]
Share = Annotated[float, Field(ge=0, le=1)]


def as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


# A list; a single text is read as a list of one.
Texts = Annotated[list[str], Field(min_length=1)]
Names = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]
Value = str | int | float | bool | None


def _check_order(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] >= bounds[1]:
        raise ValueError(f"{list(bounds)} is empty; the first number must be the smaller")
    return bounds


# Intervals: the lower bound first.
Range = Annotated[tuple[float, float], AfterValidator(_check_order)]
WholeRange = Annotated[tuple[int, int], AfterValidator(_check_order)]
QuestionSplit = Annotated[tuple[Share, Share], AfterValidator(_check_order)]


class Block(BaseModel):
    """A block of the configuration; unknown keys are errors."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )
    # Keys that do not change results, for example batch sizes: not part of a spec.
    run_time: ClassVar[frozenset[str]] = frozenset()


class JudgeConfig(Block):
    """A block under `judges`; `kind` chooses the model that validates it."""

    # Keys that change how a trained judge scores, and not its training.
    inference_keys: ClassVar[frozenset[str]] = frozenset()

    kind: str


class Aspect(Block):
    """An aspect of an answer, for example fluency, with its own scale."""

    description: str | None = None
    """what a high value means, in one sentence; used in prompts that name the aspect"""
    range: WholeRange = (1, 5)
    """lowest and highest label"""


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


ROSCOE: dict[str, str] = NAMES["roscoe"]


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
