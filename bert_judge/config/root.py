"""The whole configuration, and how a raw one is checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union

from pydantic import Field, TypeAdapter, ValidationError, create_model

from bert_judge.config import validation
from bert_judge.config.attacks import Attacks
from bert_judge.config.audit import Audit
from bert_judge.config.base import Block, JudgeConfig, ModelKey, Name
from bert_judge.config.datasets import Dataset
from bert_judge.config.imports import Import
from bert_judge.config.models import Model, Price
from bert_judge.config.pairs import PairSet
from bert_judge.config.students import Filter
from bert_judge.config.tasks import Tasks
from bert_judge.judges import registry
from bert_judge.runtime.errors import ConfigError


class Config(Block):
    """A run: which models answer which tasks, who teaches, who judges."""

    data: str | None = None
    """folder of the imported files; the environment variable BERT_JUDGE_DATA when left out"""
    imports: dict[Name, Import] = {}
    """files of answers that exist already"""
    models: dict[ModelKey, Model] = Field(min_length=1)
    """name → how its answers come about"""
    tasks: Tasks
    """which questions are asked"""
    task_files: list[str] = []
    """Python files with tasks of your own"""
    prompt_style: Literal["free", "soft", "strict"] = "free"
    """`free`: the question only; `soft`: conclude with "Final answer: …"; `strict`: nothing but "Final answer: …" """
    datasets: dict[Name, Dataset] = {}
    """name → labelled answers that train a judge"""
    judges: dict[Name, JudgeConfig] = Field(min_length=1)
    """name → a way to decide"""
    filters: dict[Name, Filter] = {}
    """name → a choice of answers that students learn from"""
    scorers: list[str] = Field(min_length=1)
    """judges whose columns the score tables carry"""
    gold: str | None = None
    """the judge that counts as the truth: agreement is measured against it"""
    assumed_price: Price = Price(prompt=2.5, completion=10.0)
    """what the tokens of an LLM judge would cost that the run does not have: the report compares with it"""
    audit: Audit | None = None
    """a sample of the answers that people label, so that a judge's accuracies can be corrected"""
    attacks: Attacks | None = None
    """made-up answers that try to fool judges"""
    pairs: dict[Name, PairSet] = {}
    """name → two answers to each question, for judges of kind pairwise"""


@cache
def config_model() -> type[Config]:
    """Return `Config` with the blocks of all registered judge kinds."""
    blocks = Union[tuple(kind.config for kind in registry.kinds())]  # type: ignore[valid-type]  # noqa: UP007
    judges = dict[Name, Annotated[blocks, Field(discriminator="kind")]]
    field = Field(min_length=1, description=Config.model_fields["judges"].description)
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, judges=(judges, field))


def parse(raw: Mapping[str, Any]) -> Config:
    """Validate a configuration.

    Raises:
        ConfigError: with one line per fault of shape or of name, all of them at once.
    """
    lines: list[str] = []
    config = None
    try:
        # Only the keys of the documentation count, not the Python names of the fields behind them.
        config = config_model().model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        lines = validation.of_shape(raw, error.errors(), json_schema())
    lines += validation.of_names(raw)
    if lines or config is None:
        raise ConfigError(lines)
    return config


def json_schema() -> dict[str, Any]:
    """The JSON schema that editors use to complete and check a configuration."""
    return TypeAdapter(config_model()).json_schema(by_alias=True)
