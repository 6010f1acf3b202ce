"""The judge kind `imported`: labels that exist already."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bert_judge.config.base import JudgeConfig, as_list
from bert_judge.judges.registry import RESULTS, Inputs, JudgeKind, LoadContext, RunPlan, Spec
from bert_judge.tables import selections

SIMULATED = "simulated"


class ImportedJudgeConfig(JudgeConfig):
    """Labels imported from a file, for example human labels; the known truth of simulated models needs no file."""

    kind: Literal["imported"]
    source: Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])] = Field([], alias="from")
    """name of an import with the labels of the models that are not simulated, or a list of names"""
    label_noise: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """share of flipped verdicts on simulated models"""
    seed: int = 0
    """seed of the flips"""


class ImportedKind(JudgeKind):
    name = "imported"
    config = ImportedJudgeConfig
    looks_up_labels = True

    def settings(self, block: ImportedJudgeConfig) -> Spec:
        return block.model_dump(mode="json", include={"kind", "label_noise", "seed"})

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        spec: Spec = {"source": plan.candidates_spec(model, task)}
        verdicts = None if _generator(plan, model) == SIMULATED else plan.verdict_import(judge, task)
        if verdicts is None:
            return spec
        if aspects := plan.config.imports[verdicts].aspects:
            spec["aspects"] = aspects.model_dump(mode="json")
        # Verdicts in the rows of the answers need no import of their own.
        if verdicts != plan.import_of(task) or _generator(plan, model) != "imported":
            spec["verdicts"] = plan.import_spec(verdicts)
        return spec

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        if _generator(plan, model) == SIMULATED:
            return {"questions": str(RESULTS / "tasks" / f"{task}.parquet")}
        verdicts = plan.verdict_import(judge, task)
        return {"source": str(plan.import_path(verdicts))} if verdicts else {}

    def table_problem(self, plan: RunPlan, judge: str, model: str, task: str) -> str | None:
        block: Any = plan.config.judges[judge]
        if _generator(plan, model) == SIMULATED or plan.verdict_import(judge, task) is not None:
            return None
        if block.source:
            return f"has no verdicts on task {task!r}; add the task's file, or one file of verdicts, to judges.{judge}.from"
        return f"judges simulated models only, and {model!r} is not simulated; name its labels with `from`, or use another judge"

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.imported.judge import ImportedJudge, SimulatedTruth

        if "questions" in context.inputs:
            return SimulatedTruth(context.spec, context.inputs["questions"])
        return ImportedJudge(context.spec, context.inputs["source"])


def _generator(plan: RunPlan, model: str) -> str:
    """Return the generator of a model, or of the model whose answers a cascade escalates."""
    selection = selections.parse(model)
    return plan.models[selection.model if isinstance(selection, selections.Escalated) else model].generator


KIND = ImportedKind()
