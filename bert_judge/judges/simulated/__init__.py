"""The judge kind `simulated`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bert_judge.config.base import JudgeConfig, as_list
from bert_judge.judges.imported import ImportedKind
from bert_judge.judges.registry import RESULTS, Inputs, LoadContext, RunPlan, Spec


class SimulatedJudgeConfig(JudgeConfig):
    """Ground truth of simulated models, with a share of flipped verdicts."""

    kind: Literal["simulated"]
    label_noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """share of flipped verdicts"""
    seed: int = 0
    """seed of the flips"""
    source: Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = Field([], alias="from")
    """name of an import with the labels of the models that are not simulated, or a list of names"""


class SimulatedKind(ImportedKind):
    """The truth of simulated models; labels of other models are imported."""

    name = "simulated"
    config = SimulatedJudgeConfig

    def settings(self, block: Any) -> Spec:
        return block.model_dump(mode="json", include={"kind", "label_noise", "seed"})

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        if _is_real(plan, model):
            return super().extra_spec(plan, judge, model, task)
        return {"source": plan.candidates_spec(model, task)}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        if _is_real(plan, model):
            return super().label_inputs(plan, judge, model, task)
        return {"table": str(RESULTS / "tasks" / f"{task}.parquet")}

    def table_problem(self, plan: RunPlan, judge: str, model: str, task: str) -> str | None:
        if plan.models[model].generator == "simulated":
            return None
        block: Any = plan.config.judges[judge]
        if block.source:
            return super().table_problem(plan, judge, model, task)
        return f"judges simulated models only, and {model!r} is not simulated; name its labels with `from`, or use another judge"

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.simulated.judge import SimulatedJudge

        if "table" not in context.inputs:
            return super().load(context)
        return SimulatedJudge(context.spec, context.inputs["table"])


def _is_real(plan: RunPlan, model: str) -> bool:
    # A selection of answers is no model.
    return model in plan.models and plan.models[model].generator != "simulated"


KIND = SimulatedKind()
