"""Check the filters and students of a configuration of valid shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.config import Config
from bert_judge.config.datasets import CONTROLS
from bert_judge.config.validation import unknown_name
from bert_judge.plan.checks import verdict_problems

if TYPE_CHECKING:
    from bert_judge.plan import Plan


def check_consistency(config: Config) -> list[str]:
    """Return contradictions between filters, judges and tasks. Reads no file."""
    problems = []
    for name, entry in config.filters.items():
        if entry.judge in CONTROLS and entry.judge in config.judges:
            problems.append(
                f"filters.{name}.judge: {entry.judge!r} is reserved for a selection without a judge, but a judge has this name; "
                "rename the judge"
            )
        problems += [
            f"filters.{name}.tasks: {task!r} is a test task; list it under tasks.train, or set allow_test_questions: true"
            for task in entry.tasks
            if task in config.tasks.test and not entry.allow_test_questions
        ]
    return problems


def check_capabilities(plan: Plan) -> list[str]:
    """Return uses of models and judges that they do not support."""
    problems = []
    for name, entry in plan.config.filters.items():
        models = plan.base_models if entry.models == "all" else entry.models
        unknown = [model for model in models if model not in plan.base_models]
        problems += [_model_problem(plan, f"filters.{name}.models", model) for model in unknown]
        if unknown:
            continue
        pairs = plan.filter_tables(name)
        if not pairs:
            problems.append(f"filters.{name}: none of its models has answers to its tasks; fix its models or tasks")
        if judge := plan.filter_judge(name):
            problems += verdict_problems(plan, f"filters.{name}.judge", judge, pairs)
    for name, dataset in plan.config.datasets.items():
        models = [] if dataset.models == "all" else dataset.models
        problems += [_model_problem(plan, f"datasets.{name}.models", model) for model in models if model in plan.students]
    return problems


def _model_problem(plan: Plan, where: str, model: str) -> str:
    if model in plan.students:
        return f"{where}: {model!r} is a student and cannot provide training answers; name other models"
    return unknown_name(where, model, "defined under models", plan.base_models)
