"""`kind: probe`: classifiers on the hidden states of a frozen model."""

from __future__ import annotations

import string
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from bert_judge.config.base import JudgeConfig, Name, ProbeAspect, Share, as_list, roscoe

Pooling = Literal["mean", "last", "min", "max", "concat"]
Classifier = Literal["logistic", "linear_svm", "rbf_svm", "forest", "mlp"]
PoolingList = Annotated[list[Pooling], Field(min_length=1)]
ClassifierList = Annotated[list[Classifier], Field(min_length=1)]

# The stored poolings; `concat` concatenates all four on reading.
BASIC_POOLINGS = ("mean", "last", "min", "max")
PROMPT = "Question: {question}\nAnswer: {candidate}\nHow good is this answer?"
FIELDS = ("question", "candidate", "aspect")


class ProbeJudgeConfig(JudgeConfig):
    """Classifiers on the hidden states of a frozen model, without references; each answer is read once for all aspects."""

    # The settings that determine a table of hidden states; probes with equal values share the table.
    reads: ClassVar[frozenset[str]] = frozenset(
        {"backbone", "revision", "prompt", "pooling", "max_length", "precision", "storage_dtype"}
    )

    kind: Literal["probe"]
    dataset: str
    """dataset to train on, whose teacher labels the aspects; its validation rows are the test split"""
    aspects: Annotated[dict[Name, ProbeAspect], Field(min_length=1)] | None = None
    """name → aspect; default: the five of ROSCOE. `correctness` is the verdict if the teacher has no such aspect"""
    backbone: str = "minilm"
    """pretrained encoder or language model: `minilm` (offline), a hub id or a local folder"""
    revision: str | None = None
    """commit of the hub repository of the backbone"""
    prompt: str = PROMPT
    """input of the backbone; with {aspect}, the answers are read once per aspect"""
    pooling: Annotated[PoolingList, BeforeValidator(as_list, json_schema_input_type=Pooling | PoolingList)] = [
        "mean",
        "last",
        "min",
        "max",
        "concat",
    ]
    """how the tokens of a layer are pooled; `concat`: mean, last, min and max, concatenated"""
    max_length: int = Field(512, ge=16)
    """maximum prompt length in tokens, capped by the backbone's context window"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """data type of the backbone"""
    storage_dtype: Literal["float32", "float16"] = "float32"
    """data type of the stored hidden states; float16 halves the tables"""
    classifiers: Annotated[ClassifierList, BeforeValidator(as_list, json_schema_input_type=Classifier | ClassifierList)] = [
        "logistic",
        "linear_svm",
        "rbf_svm",
        "forest",
        "mlp",
    ]
    """classifiers in the grid search"""
    pca_components: int = Field(50, ge=1)
    """number of principal components"""
    max_concat_layers: int = Field(5, ge=1, le=5)
    """maximum number of concatenated (layer, pooling) pairs, added by forward selection"""
    folds: int = Field(5, ge=2)
    """folds of the cross-validation, grouped by question"""
    seed: int = 0
    """seed of the folds and classifiers"""
    threshold: Share = 0.5
    """lowest score that counts as correct; the score is the mean of the aspects, each scaled to [0, 1]"""

    @property
    def aspect_configs(self) -> dict[str, ProbeAspect]:
        """Return the aspects by name; ROSCOE's if none are configured."""
        return roscoe() if self.aspects is None else self.aspects

    @property
    def stored_poolings(self) -> list[str]:
        """Return the poolings to store."""
        return [name for name in BASIC_POOLINGS if name in self.pooling or "concat" in self.pooling]

    @field_validator("prompt")
    @classmethod
    def _known_fields(cls, prompt: str) -> str:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(prompt) if name is not None]
        except ValueError as error:
            raise ValueError(f"prompt: {error}; write {{{{ and }}}} for braces") from error
        for name in fields:
            if name not in FIELDS:
                raise ValueError(f"prompt: unknown field {{{name}}}; available: {{question}}, {{candidate}} and {{aspect}}")
            if fields.count(name) > 1:
                raise ValueError(f"prompt: {{{name}}} occurs twice; remove one")
        if "candidate" not in fields:
            raise ValueError("prompt: {candidate} is missing; without it all answers have the same input")
        return prompt
