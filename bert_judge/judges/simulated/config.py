"""Settings of judges of kind `simulated`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bert_judge.config.base import JudgeConfig


class SimulatedJudgeConfig(JudgeConfig):
    """Ground truth of simulated models, with a share of flipped verdicts."""

    kind: Literal["simulated"]
    label_noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """share of flipped verdicts"""
    seed: int = 0
    """seed of the flips"""
