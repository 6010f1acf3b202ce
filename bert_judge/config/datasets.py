"""`datasets`: labelled answers that train a judge."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from bert_judge.config.base import Block, Name, Share


class Mix(Block):
    """How many rows of a dataset come from where."""

    per_task: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a task"""
    per_model: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a model"""
    total: Annotated[int, Field(gt=0)] | None = None
    """at most this many rows in all"""


AugmentationKind = Literal[
    "restated",
    "reformatted",
    "shortened",
    "stated",
    "misstated",
    "paraphrased",
    "contradicted",
    "other_answer",
    "near_miss",
    "swapped_reference",
    "denied",
    "no_answer",
    "truncated",
    "undecided",
    "retracted",
    "self_corrected",
    "padded",
    "verbose",
    "misspelled",
]


class Augmentation(Block):
    """Synthetic training rows of one kind; [judges](judges.md#data-augmentation) describes the kinds."""

    kind: AugmentationKind
    """what is done to a labelled answer"""
    share: Share
    """share of the training rows that get a synthetic row, where the kind fits the row"""


class WeakTeacher(Block):
    """Weak labels for answers on which the teacher has no verdict, as the partial credit that a benchmark gives."""

    teacher: str
    """the judge that is asked about them; its score, from 0 to 1, is the label"""
    tasks: list[Name] = Field(min_length=1)
    """tasks, out of the dataset's"""
    weight: float = Field(1.0, gt=0)
    """how much such a row counts beside one of the teacher's"""


class Dataset(Block):
    """Labelled answers that train a judge."""

    teacher: str
    """the judge whose labels are learnt"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models; with `all`, a new model retrains the judge"""
    weak_teacher: WeakTeacher | None = None
    """who labels what the teacher leaves open; such rows train and do not validate, and the mix does not limit them"""
    mix: Mix = Mix()
    """limits per task and model"""
    augment: list[Augmentation] = []
    """kinds of synthetic rows added to the training rows"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """share of the questions kept for calibration and metrics"""
    balance: bool = False
    """weight the rows so that right and wrong answers count alike"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw"""

    @field_validator("augment")
    @classmethod
    def _check_kinds_are_distinct(cls, augmentations: list[Augmentation]) -> list[Augmentation]:
        kinds = [augmentation.kind for augmentation in augmentations]
        if repeated := [kind for kind in dict.fromkeys(kinds) if kinds.count(kind) > 1]:
            raise ValueError(f"{repeated[0]!r} is listed more than once")
        return augmentations

    @property
    def teachers(self) -> list[str]:
        """The teacher and, where there is one, whom the rest is left to."""
        return [self.teacher, *([self.weak_teacher.teacher] if self.weak_teacher else [])]
