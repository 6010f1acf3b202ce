"""Settings of judges of kind `simulated`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from bert_judge.config.base import JudgeConfig, as_list


class SimulatedJudgeConfig(JudgeConfig):
    """Ground truth of simulated models, with a share of flipped verdicts."""

    kind: Literal["simulated"]
    label_noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """share of flipped verdicts"""
    seed: int = 0
    """seed of the flips"""
    source: Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = Field([], alias="from")
    """name of an import with the labels of the models that are not simulated, or a list of names"""
