"""Pydantic models of the configuration.

The commented `config.yaml` (`bert-judge config default`), the JSON schema for editors and the reference in `docs/` are generated
from them; a test fails if they differ. `bert_judge.plan` derives the tables and jobs of a run from a configuration.
"""

from bert_judge.config.aspects import Aspect, ProbeAspect
from bert_judge.config.base import Block, JudgeConfig
from bert_judge.config.datasets import Dataset, Filter, Mix
from bert_judge.config.evaluation import Attacks, Audit, PairSet
from bert_judge.config.models import (
    HFModel,
    ImportedModel,
    LanguageModel,
    LocalModel,
    Model,
    OpenAIModel,
    Price,
    SimulatedModel,
    StudentModel,
    Style,
    VLLMModel,
)
from bert_judge.config.root import Config, json_schema, parse
from bert_judge.config.sources import (
    AspectColumns,
    Columns,
    Family,
    Import,
    ImportedTask,
    PairColumns,
    SourceColumns,
    Tasks,
    TaskSource,
)
from bert_judge.config.training import Input, Training, Tuning

__all__ = [
    "Aspect",
    "AspectColumns",
    "Attacks",
    "Audit",
    "Block",
    "Columns",
    "Config",
    "Dataset",
    "Family",
    "Filter",
    "HFModel",
    "Import",
    "ImportedModel",
    "ImportedTask",
    "Input",
    "JudgeConfig",
    "LanguageModel",
    "LocalModel",
    "Mix",
    "Model",
    "OpenAIModel",
    "PairColumns",
    "PairSet",
    "Price",
    "ProbeAspect",
    "SimulatedModel",
    "SourceColumns",
    "StudentModel",
    "Style",
    "TaskSource",
    "Tasks",
    "Training",
    "Tuning",
    "VLLMModel",
    "json_schema",
    "parse",
]
