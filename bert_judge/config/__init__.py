"""The shape of the configuration: the one place that knows it, a file per part.

From these models come the commented `config.yaml` (`bert-judge config default`), the JSON schema for editors and the reference
table in `docs/`; a test fails when one of them drifts. What a configuration *asks for* (which tables, which jobs) is in `plan.py`.
"""

from bert_judge.config.aspects import Aspect, ProbeAspect
from bert_judge.config.attacks import Attacks
from bert_judge.config.audit import Audit
from bert_judge.config.base import Block
from bert_judge.config.baselines import LEARNING, BaselineTraining
from bert_judge.config.datasets import Dataset, Mix
from bert_judge.config.encoder import Input, Training
from bert_judge.config.imports import AspectColumns, Columns, Import
from bert_judge.config.judges import (
    AdaptedJudge,
    BertJudge,
    CascadeJudge,
    ImportedJudge,
    Judge,
    LexicalJudge,
    LLMJudge,
    SimulatedJudge,
)
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
from bert_judge.config.pairwise import PairAugment, PairwiseJudge
from bert_judge.config.probes import BASIC_POOLINGS, PROMPT, ProbeJudge
from bert_judge.config.root import Config, json_schema, parse
from bert_judge.config.students import Filter
from bert_judge.config.tasks import Family, ImportedTask, SourceColumns, Tasks, TaskSource
from bert_judge.config.tuning import Tuning

__all__ = [
    "BASIC_POOLINGS",
    "LEARNING",
    "PROMPT",
    "AdaptedJudge",
    "Aspect",
    "AspectColumns",
    "Attacks",
    "Audit",
    "BaselineTraining",
    "BertJudge",
    "Block",
    "CascadeJudge",
    "Columns",
    "Config",
    "Dataset",
    "Family",
    "Filter",
    "HFModel",
    "Import",
    "ImportedJudge",
    "ImportedModel",
    "ImportedTask",
    "Input",
    "Judge",
    "LLMJudge",
    "LanguageModel",
    "LexicalJudge",
    "LocalModel",
    "Mix",
    "Model",
    "OpenAIModel",
    "PairAugment",
    "PairColumns",
    "PairSet",
    "PairwiseJudge",
    "Price",
    "ProbeAspect",
    "ProbeJudge",
    "SimulatedJudge",
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
