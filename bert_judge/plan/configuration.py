"""The configuration with the blocks of all judge kinds: its model, its validation and its JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, create_model

from bert_judge.config import Config, JudgeConfig, validation
from bert_judge.config.base import Name
from bert_judge.judges import registry
from bert_judge.runtime.errors import ConfigError


def config_model() -> type[Config]:
    """Return `Config` with the blocks of all registered judge kinds."""
    return _assemble(tuple(kind.config for kind in registry.kinds()))


@cache
def _assemble(models: tuple[type[JudgeConfig], ...]) -> type[Config]:
    blocks: Any = reduce(or_, models)
    judges: Any = dict[Name, Annotated[blocks, Field(discriminator="kind")]]
    field = Field(min_length=1, description=Config.model_fields["judges"].description)
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, judges=(judges, field))


def parse(raw: Mapping[str, Any]) -> Config:
    """Validate a configuration. Raises ConfigError: with one line per error."""
    config: Config | None = None
    shape: list[str] = []
    try:
        # Accept only the documented keys, not the Python names of fields with an alias.
        config = config_model().model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        shape = validation.check_shape(raw, error.errors(), json_schema())
    lines = [*shape, *validation.check_names(raw)]
    if lines or config is None:
        raise ConfigError(lines)
    return config


def json_schema() -> dict[str, Any]:
    """Return the JSON schema, which editors use for completion and validation."""
    return TypeAdapter(config_model()).json_schema(by_alias=True)
