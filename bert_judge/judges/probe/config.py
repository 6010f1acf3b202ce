"""`kind: probe`: classifiers on the hidden states of a frozen model."""

from __future__ import annotations

import string
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from bert_judge.config.aspects import ProbeAspect, roscoe
from bert_judge.config.base import Block, JudgeConfig, Name, Share, as_list
from bert_judge.config.tuning import Lora

Pooling = Literal["mean", "last", "min", "max", "concat"]
Classifier = Literal["logistic", "linear_svm", "rbf_svm", "forest", "mlp"]
PoolingList = Annotated[list[Pooling], Field(min_length=1)]
ClassifierList = Annotated[list[Classifier], Field(min_length=1)]
Baseline = Literal["majority", "length", "fine_tuned", "lora", "prompted"]
# Told without a model, when the probe is fitted; the others load the backbone, in a job each.
WITHOUT_MODEL = ("majority", "length")
# Fitted to the labels.
LEARNING = ("fine_tuned", "lora")
BaselineList = Annotated[list[Baseline], BeforeValidator(as_list, json_schema_input_type=Baseline | list[Baseline])]

# What is stored; `concat` is put together of all four when it is read.
BASIC_POOLINGS = ("mean", "last", "min", "max")
PROMPT = "Question: {question}\nAnswer: {candidate}\nHow good is this answer?"
FIELDS = ("question", "candidate", "aspect")


class BaselineTraining(Block):
    """How `fine_tuned` and `lora` are fitted: the backbone with a head per aspect, all aspects in one training."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size"})

    epochs: float = Field(6.0, gt=0)
    """passes over the training rows; the best moment counts, not the last"""
    rows: Annotated[int, Field(gt=0)] | None = None
    """most training rows, drawn by question; left out: all"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the training questions that nothing is learnt from and on which the best moment is chosen"""
    num_evals: int = Field(6, gt=0)
    """how many moments there are to choose from"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak of the learning rate of `fine_tuned`; a language model wants less, 1e-5 for example"""
    lora_learning_rate: float = Field(1e-3, gt=0)
    """peak of the learning rate of `lora`"""
    head_lr_multiplier: float = Field(5.0, gt=0)
    """the new heads of `fine_tuned` learn this many times as fast as the backbone"""
    lora: Lora = Lora()
    """size of the low-rank matrices"""
    warmup_ratio: Share = 0.06
    """share of the steps in which the learning rate rises; linear decay to 0 after it"""
    batch_size: int = Field(16, gt=0)
    """rows per step"""
    micro_batch_size: Annotated[int, Field(gt=0)] | None = None
    """rows of a step that are in memory together, a divisor of `batch_size`; left out: all"""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay"""
    seed: int = 0
    """seed of the new heads and matrices, of the draw and of the row order"""

    @model_validator(mode="after")
    def _whole_parts(self) -> BaselineTraining:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of micro_batch_size")
        return self


class ProbeJudgeConfig(JudgeConfig):
    """Classifiers on a frozen model's hidden states: it needs no reference, and reads each answer once for all its aspects."""

    # What a table of hidden states depends on; probes that agree in it share the table.
    reads: ClassVar[frozenset[str]] = frozenset(
        {"backbone", "revision", "prompt", "pooling", "max_length", "precision", "storage_dtype"}
    )

    kind: Literal["probe"]
    dataset: str
    """train on this dataset, whose teacher gives the aspects; its validation rows are the test part, which training never sees"""
    aspects: Annotated[dict[Name, ProbeAspect], Field(min_length=1)] | None = None
    """name → what is judged apart; left out: ROSCOE's five. `correctness` is the verdict where the teacher names no such aspect"""
    backbone: str = "minilm"
    """`minilm` (offline), a hub id or a local folder of an encoder or a language model"""
    revision: str | None = None
    """commit of the hub repository of the backbone"""
    prompt: str = PROMPT
    """what the backbone reads; with {aspect} in it each aspect has a pass of its own over the answers"""
    pooling: Annotated[PoolingList, BeforeValidator(as_list, json_schema_input_type=Pooling | PoolingList)] = [
        "mean",
        "last",
        "min",
        "max",
        "concat",
    ]
    """how the tokens of a layer become one vector; `concat`: mean, last, min and max side by side"""
    max_length: int = Field(512, ge=16)
    """longest prompt in tokens; the backbone's window when that is shorter"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """number format in which the backbone computes"""
    storage_dtype: Literal["float32", "float16"] = "float32"
    """number format of the stored hidden states; float16 halves the tables"""
    classifiers: Annotated[ClassifierList, BeforeValidator(as_list, json_schema_input_type=Classifier | ClassifierList)] = [
        "logistic",
        "linear_svm",
        "rbf_svm",
        "forest",
        "mlp",
    ]
    """classifiers that the grid search tries"""
    pca_components: int = Field(50, ge=1)
    """principal components that a classifier sees"""
    max_concat_layers: int = Field(5, ge=1, le=5)
    """most (layer, pooling) pairs side by side; one more is kept only if it is better"""
    folds: int = Field(5, ge=2)
    """folds of the cross-validation, by question"""
    seed: int = 0
    """seed of the folds and classifiers"""
    threshold: Share = 0.5
    """lowest score that counts as correct; the score is the mean of the aspects, each from 0 to 1"""
    baselines: BaselineList = ["majority", "length"]
    """beside whom the probe's figures stand: the commonest class, the answer's length, the backbone fine-tuned with all its weights
    or with low-rank matrices, the backbone asked directly (language models only)"""
    baseline_training: BaselineTraining = BaselineTraining()
    """how `fine_tuned` and `lora` are fitted"""

    @property
    def told(self) -> dict[str, ProbeAspect]:
        """The aspects by name."""
        return roscoe() if self.aspects is None else self.aspects

    @property
    def stored(self) -> list[str]:
        """The poolings that must be stored for these."""
        return [name for name in BASIC_POOLINGS if name in self.pooling or "concat" in self.pooling]

    @property
    def asked(self) -> list[Baseline]:
        """The baselines that load the backbone."""
        return [name for name in self.baselines if name not in WITHOUT_MODEL]

    @field_validator("baselines")
    @classmethod
    def _each_once(cls, baselines: list[Baseline]) -> list[Baseline]:
        if repeated := [name for name in baselines if baselines.count(name) > 1]:
            raise ValueError(f"baselines lists {repeated[0]} twice; remove one")
        return baselines

    @field_validator("prompt")
    @classmethod
    def _known_fields(cls, prompt: str) -> str:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(prompt) if name is not None]
        except ValueError as error:
            raise ValueError(f"prompt: {error}; write {{{{ and }}}} for braces") from error
        for name in fields:
            if name not in FIELDS:
                raise ValueError(f"prompt: unknown field {{{name}}}; there are {{question}}, {{candidate}} and {{aspect}}")
            if fields.count(name) > 1:
                raise ValueError(f"prompt: {{{name}}} is there twice; keep one")
        if "candidate" not in fields:
            raise ValueError("prompt: {candidate} is missing; without it every answer reads the same")
        return prompt
