"""`datasets`, `filters` and `pairs`: training data of judges and of students, and pairs of answers that judges compare."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from bert_judge.config.base import NAMES, Block, Name, QuestionSplit, Share, Value


class Mix(Block):
    """Maximum numbers of rows in a dataset."""

    per_task: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """maximum number of rows per task"""
    per_model: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """maximum number of rows per model"""
    total: Annotated[int, Field(gt=0)] | None = None
    """maximum number of rows in total"""


DEFAULT_SHARES: dict[str, float] = NAMES["augment_default"]
AugmentationKind = Literal[tuple(DEFAULT_SHARES)]  # type: ignore[valid-type]


class Augmentation(Block):
    """Synthetic training rows of one kind; [judges](judges.md#data-augmentation) describes the kinds."""

    kind: AugmentationKind  # type: ignore[valid-type]
    """what is done to a labelled answer"""
    share: Share
    """share of the training rows that get a synthetic row, where the kind fits the row"""


def _expand_default(value: Any) -> Any:
    return [{"kind": kind, "share": share} for kind, share in DEFAULT_SHARES.items()] if value == "default" else value


Augmentations = Annotated[
    list[Augmentation], BeforeValidator(_expand_default, json_schema_input_type=Literal["default"] | list[Augmentation])
]


class WeakTeacher(Block):
    """Weak labels for answers that the teacher leaves invalid, for example the partial credit of a benchmark."""

    teacher: str
    """judge whose score, from 0 to 1, is the label"""
    tasks: list[Name] = Field(min_length=1)
    """tasks with weak labels, a subset of the dataset's tasks"""
    weight: float = Field(1.0, gt=0)
    """weight of these rows, relative to rows labelled by the teacher"""


class Dataset(Block):
    """Labelled answers for training a judge."""

    teacher: str
    """judge whose labels are the training labels"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models whose answers are used; with `all`, a new model retrains the judge"""
    weak_teacher: WeakTeacher | None = None
    """labels for answers that the teacher leaves invalid; used for training only, and not limited by `mix`"""
    mix: Mix = Mix()
    """maximum numbers of rows per task, per model and in total"""
    augment: Augmentations = []
    """kinds of synthetic rows added to the training rows; `default`: every kind, in the shares of the judge `general`"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """share of the questions held out for calibration and metrics"""
    balance: bool = False
    """weight the rows so that correct and incorrect answers have the same total weight"""
    allow_test_questions: bool = False
    """allow questions that are also in a test task"""
    seed: int = 0
    """seed of sampling and splitting"""

    @field_validator("augment")
    @classmethod
    def _check_kinds_are_distinct(cls, augmentations: list[Augmentation]) -> list[Augmentation]:
        kinds = [augmentation.kind for augmentation in augmentations]
        if repeated := [kind for kind in dict.fromkeys(kinds) if kinds.count(kind) > 1]:
            raise ValueError(f"{repeated[0]!r} is listed more than once")
        return augmentations

    @property
    def teachers(self) -> list[str]:
        """The teacher and, if there is one, the weak teacher."""
        return [self.teacher, *([self.weak_teacher.teacher] if self.weak_teacher else [])]


# Values of `Filter.judge` that name no judge.
RANDOM, EVERYTHING = "random", "all"
CONTROLS = (RANDOM, EVERYTHING)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Percent = Annotated[float, Field(ge=0.01, le=100)]
PercentList = Annotated[list[Percent], Field(min_length=1)]
Percents = Annotated[PercentList, BeforeValidator(_as_list, json_schema_input_type=Percent | PercentList)]


class Filter(Block):
    """The answers to training questions that a student is trained on."""

    judge: str
    """judge whose scores rank the answers, `random` for a random sample, or `all` to keep everything"""
    keep: Percents | None = None
    """percentage of the answers to keep, best first; a list gives one table and one student per percentage"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models whose answers are used; `all`: every model that is not a student"""
    per_question: Annotated[int, Field(gt=0)] | None = 1
    """maximum number of answers per question, best first; `null`: no limit"""
    allow_test_questions: bool = False
    """allow questions that are also in a test task"""
    seed: int = 0
    """seed of the random sample and of tie-breaking"""

    @model_validator(mode="after")
    def _check_keep(self) -> Filter:
        if self.judge == EVERYTHING and self.keep not in (None, [100]):
            raise ValueError("judge `all` keeps everything; remove keep")
        if self.judge != EVERYTHING and self.keep is None:
            raise ValueError("keep is missing; set the percentage of the answers to keep")
        if repeated := [percent for percent in self.percents if self.percents.count(percent) > 1]:
            raise ValueError(f"keep lists {repeated[0]:g} twice; remove one")
        return self

    @property
    def percents(self) -> list[float]:
        """The percentages; each gives one table."""
        return self.keep or [100.0]


FROM_CANDIDATES = {"tasks", "models", "schedule", "baseline", "opponents", "rows", "gold", "seed"}
FROM_FILE = {"where", "question_split"}


class PairSet(Block):
    """Pairs of answers to the same question, from models of this run or from a file."""

    source: str | None = Field(None, alias="from")
    """name of an import with pairs; alternative to `tasks`"""
    where: dict[str, Value | list[Value]] = {}
    """with `from`: column → value or list of values; other rows are ignored"""
    question_split: QuestionSplit = (0.0, 1.0)
    """with `from`: interval of questions; a hash of its text assigns each question a number in [0, 1)"""
    tasks: list[str] = []
    """tasks whose answers are paired; alternative to `from`"""
    models: list[str] | Literal["all"] = "all"
    """with `tasks`: models whose answers are paired"""
    schedule: Literal["all", "baseline", "sampled"] = "all"
    """which models are compared: `all` with each other, each with `baseline`, or `sampled` opponents for each"""
    baseline: str | None = None
    """model that all others are compared with"""
    opponents: int = Field(3, gt=0)
    """`sampled`: number of opponents per model, from the models listed before it, those with the fewest comparisons first"""
    rows: Annotated[int, Field(gt=0)] | None = None
    """maximum number of questions per pair of models; a higher limit keeps the same questions"""
    gold: str | None = None
    """pointwise judge that labels the pairs: a correct answer beats an incorrect one, otherwise a tie"""
    judges: list[str] = []
    """pairwise judges that compare these pairs"""
    seed: int = 0
    """seed of the questions, of the opponents and of the order of the two answers"""

    @model_validator(mode="after")
    def _check_source(self) -> PairSet:
        if (self.source is None) == (not self.tasks):
            raise ValueError("give either `from` (pairs of a file) or `tasks` (answers of this run)")
        if useless := self.model_fields_set & (FROM_CANDIDATES if self.source else FROM_FILE):
            raise ValueError(
                f"{' and '.join(sorted(useless))} cannot be combined with {'`from`' if self.source else '`tasks`'}; remove it"
            )
        if (self.schedule == "baseline") != (self.baseline is not None):
            raise ValueError("set both schedule: baseline and the name under `baseline`, or neither")
        return self
