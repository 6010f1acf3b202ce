"""The judge kind `per_task`: for each task the judges that suit it. Their label tables are combined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from bert_judge import tables
from bert_judge.config.base import JudgeConfig, Name, Names
from bert_judge.judges.protocol import KEY, LABEL_COLUMNS, join_labels
from bert_judge.judges.registry import Dependencies, JudgeKind, LabelTable, LoadContext, RunPlan, Spec, find
from bert_judge.runtime.errors import suggest

if TYPE_CHECKING:
    from bert_judge.config import Config


class PerTaskJudgeConfig(JudgeConfig):
    """The judges that suit each task. All of them label its answers; the first whose verdict is valid decides."""

    kind: Literal["per_task"]
    judges: Names
    """names of judges for the other tasks, in the order in which they decide"""
    tasks: dict[Name, Names] = Field({})
    """task → names of its judges"""


class PerTaskKind(JudgeKind):
    name = "per_task"
    config = PerTaskJudgeConfig
    combines_labels = True

    def settings(self, block: PerTaskJudgeConfig) -> Spec:
        # Another judge for one task changes the labels of this task only; see `extra_spec`.
        return {"kind": block.kind}

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        return {"judges": [name for name, _, _ in self.source_tables(plan, judge, model, task)]}

    def depends_on(self, block: PerTaskJudgeConfig) -> Dependencies:
        return Dependencies(
            judges=list(dict.fromkeys([*block.judges, *(name for names in block.tasks.values() for name in names)]))
        )

    def source_tables(self, plan: RunPlan, judge: str, model: str, task: str) -> list[LabelTable]:
        block: Any = plan.config.judges[judge]
        return [(name, model, task) for name in block.tasks.get(task, block.judges)]

    def checks(self, config: Config, judge: str, block: PerTaskJudgeConfig) -> list[str]:
        listed = [*config.tasks.train, *config.tasks.test]
        errors = [
            f"judges.{judge}.tasks: {task!r} is not listed under tasks; {suggest(task, listed)}"
            for task in block.tasks
            if task not in listed
        ]
        for member in self.depends_on(block).judges:
            if problem := find(config.judges[member].kind).member_problem(member):
                errors.append(f"judges.{judge}: {member!r} {problem}")
        return errors

    def member_problem(self, judge: str) -> str | None:
        return "names the judges of tasks itself; list its judges here"

    def combine_labels(self, context: LoadContext, output: Path) -> None:
        import pandas as pd

        spec, paths = context.spec, context.inputs["labels"]
        remaining = answers = tables.read(context.inputs["candidates"], tables.CANDIDATES)
        decided: list[pd.DataFrame] = []
        for name, path in zip(spec["judges"], paths, strict=True):
            rows = join_labels(remaining, path).set_axis(remaining.index).assign(decided_by=name)
            is_valid = rows["verdict"].ne("invalid") | (name == spec["judges"][-1])
            decided.append(rows.loc[is_valid, LABEL_COLUMNS])
            remaining = remaining[~is_valid]
        labels = pd.concat(decided).sort_index()
        merged = pd.concat([answers[[*KEY, "model"]].assign(judge=spec["judge"]), labels], axis=1)
        tables.write(merged, output, tables.LABELS, spec, revisions=tables.merge_revisions(paths))


KIND = PerTaskKind()
