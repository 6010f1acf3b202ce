"""What is wrong with filters and students of a configuration that is sound otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.config import Config
from bert_judge.config.datasets import CONTROLS
from bert_judge.plan.checks import verdict_faults

if TYPE_CHECKING:
    from bert_judge.plan import Plan


def of_fit(config: Config) -> list[str]:
    """Filters whose parts are each right but do not fit together; no file is looked at."""
    faults = []
    for name, entry in config.filters.items():
        if entry.judge in CONTROLS and entry.judge in config.judges:
            faults.append(
                f"filters.{name}.judge: {entry.judge!r} is the word for a choice without a judge, and a judge has it for a name; "
                "rename the judge"
            )
        faults += [
            f"filters.{name}.tasks: {task!r} is a test task; list it under tasks.train, or set allow_test_questions: true"
            for task in entry.tasks
            if task in config.tasks.test and not entry.allow_test_questions
        ]
    return faults


def of_use(plan: Plan) -> list[str]:
    """What is asked of models and judges that cannot give it."""
    faults = []
    for name, entry in plan.config.filters.items():
        chosen = plan.base_models if entry.models == "all" else entry.models
        unknown = [model for model in chosen if model not in plan.base_models]
        faults += [f"filters.{name}.models: {_cannot_teach(plan, model)}" for model in unknown]
        if unknown:
            continue
        pairs = plan.chosen_from(name)
        if not pairs:
            faults.append(f"filters.{name}: none of its models has answers to its tasks; mend its models or tasks")
        if judge := plan.filter_judge(name):
            faults += verdict_faults(plan, f"filters.{name}.judge", judge, pairs)
    for name, dataset in plan.config.datasets.items():
        chosen = [] if dataset.models == "all" else dataset.models
        faults += [f"datasets.{name}.models: {_cannot_teach(plan, model)}" for model in chosen if model in plan.students]
    return faults


def _cannot_teach(plan: Plan, model: str) -> str:
    if model in plan.students:
        return f"{model!r} is a student, which learns from judges and teaches none; name other models"
    return f"{model!r} is not defined under models; there are: {', '.join(plan.base_models) or 'none'}"
