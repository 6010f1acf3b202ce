"""`filters` and how a student is fitted: training data for language models, chosen by a judge."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.blocks import Block, Share

# In the place of a judge's name: no judge at all.
RANDOM, EVERYTHING = "random", "all"
CONTROLS = (RANDOM, EVERYTHING)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


Percent = Annotated[float, Field(ge=0.01, le=100)]
PercentList = Annotated[list[Percent], Field(min_length=1)]
Percents = Annotated[PercentList, BeforeValidator(_listed, json_schema_input_type=Percent | PercentList)]


class Filter(Block):
    """Which answers to training questions a student learns from."""

    judge: str
    """whose scores decide: a judge, `random` for a draw, or `all` for no choice"""
    keep: Percents | None = None
    """percent of the answers that are kept, the best ones; with a list, one table and one student for each"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """whose answers; `all`: of every model that is no student"""
    per_question: Annotated[int, Field(gt=0)] | None = 1
    """most answers to one question, the best ones; `null`: any number"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw, which also parts equal scores"""

    @model_validator(mode="after")
    def _says_how_much(self) -> Filter:
        if self.judge == EVERYTHING and self.keep not in (None, [100]):
            raise ValueError("with judge `all` nothing is chosen; leave keep out")
        if self.judge != EVERYTHING and self.keep is None:
            raise ValueError("keep is missing: say how many percent of the answers are kept")
        if repeated := [percent for percent in self.percents if self.percents.count(percent) > 1]:
            raise ValueError(f"keep lists {repeated[0]:g} twice; remove one")
        return self

    @property
    def percents(self) -> list[float]:
        """The percentages, each of which makes a table."""
        return self.keep or [100.0]


class Lora(Block):
    """Low-rank matrices beside the frozen weights, for every linear layer but the last (Hu et al. 2021)."""

    rank: int = Field(16, gt=0)
    """rank of the matrices"""
    alpha: int = Field(32, gt=0)
    """their product is weighed with alpha / rank"""
    dropout: Share = 0.05
    """dropout before them"""


class Tuning(Block):
    """How a language model is fitted to the answers that a filter kept."""

    run_time: ClassVar[frozenset[str]] = frozenset({"rows_at_once", "save_memory"})

    method: Literal["lora", "full"] = "lora"
    """`lora`: low-rank matrices, merged into the weights at the end; `full`: all weights"""
    lora: Lora = Lora()
    """size of the low-rank matrices"""
    epochs: float = Field(2.0, gt=0)
    """passes over the answers"""
    learning_rate: float = Field(1e-4, gt=0)
    """peak of the learning rate; linear decay to 0. Full fine-tuning wants less, 1e-5 for example"""
    warmup: Share = 0.06
    """share of the steps in which the learning rate rises"""
    batch_size: int = Field(16, gt=0)
    """answers per step"""
    rows_at_once: Annotated[int, Field(gt=0)] | None = None
    """answers of a step that are in memory together, a divisor of `batch_size`; left out: all"""
    save_memory: bool = False
    """compute activations anew in the backward pass instead of keeping them"""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's weight decay"""
    max_length: int = Field(2048, ge=16)
    """longest prompt and answer together, in tokens; a longer row is left out, because a cut answer teaches to break off"""
    seed: int = 0
    """seed of the new matrices and of the row order"""

    @model_validator(mode="after")
    def _whole_parts(self) -> Tuning:
        if self.rows_at_once is not None and self.batch_size % self.rows_at_once:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of rows_at_once")
        return self
