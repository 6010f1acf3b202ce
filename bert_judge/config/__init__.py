"""Pydantic models of the configuration.

The JSON schema for editors and the reference in `docs/` are generated from them; a test fails if they differ. `bert_judge.plan`
derives the tables and jobs of a run from a configuration.
"""

from bert_judge.config.base import JudgeConfig, ProbeAspect
from bert_judge.config.datasets import Dataset, Filter, Mix, PairSet
from bert_judge.config.models import (
    HFModel,
    ImportedModel,
    LocalModel,
    Model,
    OpenAIModel,
    Price,
    SimulatedModel,
    StudentModel,
    Style,
    VLLMModel,
)
from bert_judge.config.root import Attacks, Audit, Config
from bert_judge.config.sources import AspectColumns, Columns, Family, Import, TaskSource
from bert_judge.config.training import Input, Training, Tuning
