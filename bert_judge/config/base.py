"""Base classes and common types of the configuration models."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

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


class Block(BaseModel):
    """A block of the configuration; unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", validate_by_name=True, validate_by_alias=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    # Keys that do not change results, for example batch sizes: not part of a spec.
    run_time: ClassVar[frozenset[str]] = frozenset()


class JudgeConfig(Block):
    """A block under `judges`; `kind` chooses the model that validates it."""

    kind: str
