"""The judge kind `imported`."""

from typing import Any, Literal

from pydantic import Field

from bert_judge.config.base import JudgeConfig, Names
from bert_judge.judges.registry import Inputs, JudgeKind, LoadContext, RunPlan, Spec


class ImportedJudgeConfig(JudgeConfig):
    """Labels imported from a file, for example human labels."""

    kind: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or a list of names"""


class ImportedKind(JudgeKind):
    name = "imported"
    config: type[JudgeConfig] = ImportedJudgeConfig
    looks_up_labels = True

    def settings(self, block: ImportedJudgeConfig) -> Spec:
        return {"kind": self.name}

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        spec: Spec = {"source": plan.candidates_spec(model, task)}
        verdicts = plan.verdict_import(judge, task)
        if verdicts is None:
            return spec
        if aspects := plan.config.imports[verdicts].aspects:
            spec["aspects"] = aspects.model_dump(mode="json")
        # Verdicts in the rows of the answers need no import of their own.
        if verdicts != plan.import_of(task) or plan.models[model].generator != "imported":
            spec["verdicts"] = plan.import_spec(verdicts)
        return spec

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        verdicts = plan.verdict_import(judge, task)
        return {"source": str(plan.import_path(verdicts))} if verdicts else {}

    def table_problem(self, plan: RunPlan, judge: str, model: str, task: str) -> str | None:
        if plan.verdict_import(judge, task) is not None:
            return None
        return f"has no verdicts on task {task!r}; add the task's file, or one file of verdicts, to judges.{judge}.from"

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.imported.judge import ImportedJudge

        return ImportedJudge(context.spec, context.inputs["source"])


KIND = ImportedKind()
