"""The judge kind `prior_shift`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share
from bert_judge.judges.registry import RESULTS, Dependencies, Inputs, JudgeKind, LabelTable, LoadContext, RunPlan, find, names

if TYPE_CHECKING:
    from bert_judge.config import Config


class PriorShiftJudgeConfig(JudgeConfig):
    """Another judge with prior-shift correction: the base rate of each model and task is estimated from the scores, which are
    shifted to it. For tasks that the judge was not trained on."""

    kind: Literal["prior_shift"]
    judge: str
    """name of the judge, of kind bert, llm or probe"""
    dataset: str | None = None
    """dataset whose validation rows give the prior; alternative to `prior`"""
    prior: Annotated[float, Field(gt=0, lt=1)] | None = None
    """base rate that the judge was calibrated at; alternative to `dataset`"""
    prior_strength: float = Field(20.0, gt=0)
    """pseudo-count of answers at the prior, which limits the shift of small tables"""
    threshold: Share = 0.5
    """lowest score that counts as correct"""

    @model_validator(mode="after")
    def _one_prior(self) -> PriorShiftJudgeConfig:
        if (self.dataset is None) == (self.prior is None):
            raise ValueError("give either dataset or prior")
        return self


class PriorShiftKind(JudgeKind):
    name = "prior_shift"
    config = PriorShiftJudgeConfig
    combines_labels = True
    is_trained = True

    def depends_on(self, block: PriorShiftJudgeConfig) -> Dependencies:
        return Dependencies(judges=[block.judge], datasets=[block.dataset] if block.dataset else [])

    def source_tables(self, plan: RunPlan, judge: str, model: str, task: str) -> list[LabelTable]:
        block: Any = plan.config.judges[judge]
        return [(block.judge, model, task)]

    def inputs(self, judge: str, block: PriorShiftJudgeConfig, results: Path = RESULTS) -> Inputs:
        return {"validation": str(results / "datasets" / block.dataset / "validation.parquet")} if block.dataset else {}

    def checks(self, config: Config, judge: str, block: PriorShiftJudgeConfig) -> list[str]:
        kind = find(config.judges[block.judge].kind)
        if kind.is_calibrated:
            return []
        calibrated = ", ".join(name for name in names() if find(name).is_calibrated)
        return [f"judges.{judge}.judge: {block.judge!r} is of kind {kind.name}; only the scores of {calibrated} are probabilities"]

    def member_problem(self, judge: str) -> str | None:
        return "is corrected per model and task and cannot label some of the answers; list its judge here"

    def attack_problem(self, block: PriorShiftJudgeConfig) -> str | None:
        return f"is corrected per model and task, and attacks are no model's answers; name its judge {block.judge!r}"

    def standalone_problem(self, block: PriorShiftJudgeConfig) -> str | None:
        return f"is corrected per model and task of a run; name its judge {block.judge!r}"

    def combine_labels(self, context: LoadContext, output: Path) -> None:
        from bert_judge.judges.prior_shift.estimate import label_with_prior_shift

        [labels] = context.inputs["labels"]
        label_with_prior_shift(context.spec, labels, context.inputs.get("validation"), output)


KIND = PriorShiftKind()
