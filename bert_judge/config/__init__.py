"""The shape of the configuration: the one place that knows it, a file per part.

From these models come the commented `config.yaml` (`bert-judge config default`), the JSON schema for editors and the reference
table in `docs/`; a test fails when one of them drifts. What a configuration *asks for* (which tables, which jobs) is in `plan.py`.
"""

from bert_judge.config.aspects import Aspect, ProbeAspect
from bert_judge.config.attacks import Attacks
from bert_judge.config.audit import Audit
from bert_judge.config.base import Block, JudgeConfig
from bert_judge.config.datasets import Dataset, Mix
from bert_judge.config.encoder import Input, Training
from bert_judge.config.imports import AspectColumns, Columns, Import
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
from bert_judge.config.pairs import PairColumns, PairSet
from bert_judge.config.root import Config, json_schema, parse
from bert_judge.config.students import Filter
from bert_judge.config.tasks import Family, ImportedTask, SourceColumns, Tasks, TaskSource
from bert_judge.config.tuning import Tuning

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
