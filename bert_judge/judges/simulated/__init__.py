"""The judge kind `simulated`."""

from __future__ import annotations

from typing import Any

from bert_judge.judges.registry import RESULTS, Inputs, JudgeKind, LoadContext, RunPlan, Spec


class SimulatedKind(JudgeKind):
    name = "simulated"
    looks_up_labels = True

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        return {"source": plan.candidates_spec(model, task)}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        return {"table": str(RESULTS / "tasks" / f"{task}.parquet")}

    def table_problem(self, plan: RunPlan, judge: str, model: str, task: str) -> str | None:
        if plan.models[model].generator == "simulated":
            return None
        return f"judges simulated models only, and {model!r} is not simulated; use another judge"

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.simulated.judge import SimulatedJudge

        return SimulatedJudge(context.spec, context.inputs["table"])


KIND = SimulatedKind()
