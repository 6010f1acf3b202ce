"""The judge kind `cascade`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share
from bert_judge.judges import registry
from bert_judge.tables import selections

if TYPE_CHECKING:
    from bert_judge.config import Config


class CascadeJudgeConfig(JudgeConfig):
    """A cascade of judges: each decides where it is confident and escalates the rest to the next. Set one of `accuracy`, `budget`
    and `escalate`."""

    inference_keys: ClassVar[frozenset[str]] = frozenset({"escalate"})

    kind: Literal["cascade"]
    judges: Annotated[list[str], Field(min_length=2)]
    """names of judges, cheapest first; the last one decides everything escalated to it"""
    escalate: Literal["uncertain"] | None = None
    """`uncertain`: a judge decides where its verdict is marked as certain, or, without such marks, its score is at least 0.9 sure;
    needs no dataset"""
    dataset: str | None = None
    """dataset whose validation rows are used to fit the confidence threshold, for `accuracy` or `budget`"""
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    """minimum accuracy on the validation rows, at the lowest cost; alternative to `budget`"""
    budget: Share | None = None
    """maximum share of the validation rows escalated to the last judge, at the highest accuracy; alternative to `accuracy`"""

    @model_validator(mode="after")
    def _one_aim(self) -> CascadeJudgeConfig:
        if sum(aim is not None for aim in (self.accuracy, self.budget, self.escalate)) != 1:
            raise ValueError("give one of accuracy, budget and escalate")
        if self.escalate and self.dataset:
            raise ValueError("dataset has no effect with escalate, which fits nothing; remove it")
        if not self.escalate and not self.dataset:
            raise ValueError("accuracy and budget need a dataset with validation rows; name it, or set escalate: uncertain instead")
        return self


class CascadeKind(registry.JudgeKind):
    name = "cascade"
    config = CascadeJudgeConfig
    stage_version = 2
    combines_labels = True
    is_trained = True

    def settings(self, block: CascadeJudgeConfig) -> registry.Spec:
        # The thresholds are in the spec of the fitted cascade.
        return block.model_dump(mode="json", include={"kind", "judges", "escalate"}, exclude_none=True)

    def depends_on(self, block: CascadeJudgeConfig) -> registry.Dependencies:
        return registry.Dependencies(judges=block.judges, datasets=[block.dataset] if block.dataset else [])

    def source_tables(self, plan: registry.RunPlan, judge: str, model: str, task: str) -> list[registry.LabelTable]:
        """Return one label table per judge of the cascade.

        A judge that labels all of these answers for the score tables anyway does not label the escalated ones again.
        """
        block: Any = plan.config.judges[judge]
        labelled = plan.config.scorers if (model, task) in plan.score_tables else []
        first, *later_judges = block.judges
        escalated = {name: model if name in labelled else selections.Escalated(model, judge, name).name for name in later_judges}
        return [(first, model, task), *((name, source, task) for name, source in escalated.items())]

    def fit_tables(self, plan: registry.RunPlan, judge: str) -> list[registry.LabelTable]:
        block: Any = plan.config.judges[judge]
        held_out, teacher = selections.HeldOut(block.dataset).name, plan.config.datasets[block.dataset].teacher
        # The labels of these rows are the teacher's.
        return [(name, held_out, selections.VALIDATION) for name in block.judges if name != teacher]

    def selections(self, plan: registry.RunPlan, judge: str) -> list[str]:
        block: Any = plan.config.judges[judge]
        escalated = [selections.Escalated(model, judge, n).name for n in block.judges[1:] for model in plan.answer_sources]
        return [*escalated, *([selections.HeldOut(block.dataset).name] if block.dataset else [])]

    def inputs(self, judge: str, block: CascadeJudgeConfig, results: Path = registry.RESULTS) -> registry.Inputs:
        return {"cascade": registry.judge_file(judge, results)} if block.dataset else {}

    def training_spec(self, plan: registry.RunPlan, judge: str) -> registry.Spec:
        block: Any = plan.config.judges[judge]
        members = [name for name, _, _ in self.fit_tables(plan, judge)]
        teacher = plan.config.datasets[block.dataset].teacher
        return {**super().training_spec(plan, judge), "teacher": teacher, "learners": members}

    def training_inputs(self, plan: registry.RunPlan, judge: str) -> registry.Inputs:
        validation = super().training_inputs(plan, judge)["validation"]
        return {"validation": validation, "labels": [registry.label_path(table) for table in self.fit_tables(plan, judge)]}

    def training_resources(self, block: CascadeJudgeConfig) -> registry.TrainingResources:
        return registry.TrainingResources(mem_mb=2000, minutes=20)

    def train(self, context: registry.TrainingContext) -> None:
        from bert_judge.judges.cascade.fit import fit_cascade

        labels = dict(zip(context.spec["learners"], context.inputs["labels"], strict=True))
        fit_cascade(context.spec, context.inputs["validation"], labels, context.folder / registry.JUDGE_FILE)

    def evaluate(self, context: registry.TrainingContext) -> None:
        from bert_judge.judges.cascade.fit import evaluate_cascade

        evaluate_cascade(context.spec, context.folder)

    def checks(self, config: Config, judge: str, block: CascadeJudgeConfig) -> list[str]:
        teacher = config.datasets[block.dataset].teacher if block.dataset else None
        errors = []
        entries = {name: (config.judges[name], registry.find(config.judges[name].kind)) for name in block.judges}
        cheap = {name for name, (entry, kind) in entries.items() if not (hasattr(entry, "model") or kind.looks_up_labels)}
        for position, (member, (entry, kind)) in enumerate(entries.items(), start=1):
            where = f"judges.{judge}.judges: {member!r}"
            if problem := kind.member_problem(member):
                errors.append(f"{where} {problem}")
            elif hasattr(entry, "model") and cheap.intersection(block.judges[position:]):
                errors.append(f"{where} is a language model and costs more than a judge after it; list it after that one")
            elif teacher is None:
                if kind.looks_up_labels and position < len(block.judges):
                    errors.append(f"{where} looks its verdicts up, and is always sure of them; put it last")
            elif member == teacher and position < len(block.judges):
                errors.append(f"{where} is the teacher of {block.dataset!r} and always agrees with its labels; put it last")
            elif member != teacher and kind.looks_up_labels:
                errors.append(
                    f"{where} has no verdicts on the validation rows of {block.dataset!r}; "
                    f"of its kind only the teacher can be here, {teacher!r}"
                )
        return errors

    def member_problem(self, judge: str) -> str | None:
        return "is a cascade itself; list its judges here"

    def standalone_problem(self, block: CascadeJudgeConfig | None) -> str | None:
        if block is not None and block.escalate:
            return None
        return "is a fitted cascade and only judges the answers of a run; name one of its judges, or use attacks.judges in a run"

    def combine_labels(self, context: registry.LoadContext, output: Path) -> None:
        from bert_judge.judges.cascade.escalation import label_cascade

        inputs = context.inputs
        labels = list(zip(context.settings["judges"], inputs["labels"], strict=True))
        label_cascade(context.spec, inputs["candidates"], labels, inputs.get("cascade"), output)


KIND = CascadeKind()
