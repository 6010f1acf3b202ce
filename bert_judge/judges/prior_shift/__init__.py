"""The judge kind `prior_shift`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.judges.registry import (
    RESULTS,
    Dependencies,
    Inputs,
    JudgeKind,
    LabelTable,
    LoadContext,
    RunPlan,
    find,
    names,
)

if TYPE_CHECKING:
    from bert_judge.config import Config
    from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig


class PriorShiftKind(JudgeKind):
    name = "prior_shift"
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
