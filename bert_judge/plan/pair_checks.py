"""Check the pair sets and pairwise judges of a configuration of valid shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bert_judge.config import Config
from bert_judge.config.validation import unknown_name
from bert_judge.judges import registry
from bert_judge.plan.checks import depends_on, verdict_problems

if TYPE_CHECKING:
    from bert_judge.plan import Plan

# Folder of the label tables of pairs, at the place of a model's folder.
FOLDER = "pairs"


def check_consistency(config: Config) -> list[str]:
    """Return judges used where another kind is required. Reads no file."""
    pairwise = {name for name, judge in config.judges.items() if registry.find(judge.kind).compares_pairs}
    problems = [
        f"{where}: {name!r} is of kind pairwise and compares two answers; name a judge of single answers"
        for where, name in _pointwise_uses(config)
        if name in pairwise
    ]
    for key, entry in config.pairs.items():
        problems += [
            f"pairs.{key}.judges: {name!r} is of kind {config.judges[name].kind}; name judges of kind pairwise"
            for name in entry.judges
            if name in config.judges and name not in pairwise
        ]
        listed_tasks = [*config.tasks.train, *config.tasks.test]
        problems += [
            f"pairs.{key}.tasks: {task!r} is listed neither under tasks.train nor under tasks.test"
            for task in entry.tasks
            if task not in listed_tasks
        ]
        problems += _leaks(config, key)
    if config.pairs and FOLDER in config.models:
        problems.append(f"models.{FOLDER}: verdicts on pairs are stored in a folder of this name; choose another name")
    return problems


def _pointwise_uses(config: Config) -> Iterator[tuple[str, str]]:
    """Yield (location, name) of every judge that must judge single answers."""
    yield from (("scorers", name) for name in config.scorers)
    yield from (("gold", name) for name in [config.gold] if name)
    yield from ((f"datasets.{key}.teacher", entry.teacher) for key, entry in config.datasets.items())
    yield from (
        (f"datasets.{key}.weak_teacher.teacher", e.weak_teacher.teacher) for key, e in config.datasets.items() if e.weak_teacher
    )
    yield from ((f"filters.{key}.judge", entry.judge) for key, entry in config.filters.items())
    yield from ((f"pairs.{key}.gold", entry.gold) for key, entry in config.pairs.items() if entry.gold)
    yield from (("attacks.judges", name) for name in (config.attacks.judges if config.attacks else []))
    for key in config.judges:
        yield from ((f"judges.{key}.judges", name) for name in depends_on(config, key).judges)


def _leaks(config: Config, key: str) -> list[str]:
    """Return judges that compare pairs they are trained on, or questions they are trained on."""
    entry = config.pairs[key]
    problems = []
    for name in entry.judges:
        for training_set in depends_on(config, name).pair_sets if name in config.judges else []:
            trained = config.pairs.get(training_set)
            if training_set == key:
                problems.append(f"pairs.{key}.judges: {name!r} is trained on these pairs; compare others")
            elif (
                trained
                and entry.source
                and trained.source == entry.source
                and _overlap(entry.question_split, trained.question_split)
            ):
                if not any(
                    _disjoint(entry.where[column], trained.where[column]) for column in entry.where if column in trained.where
                ):
                    problems.append(
                        f"pairs.{key}.judges: {name!r} is trained on {training_set}, whose part of the questions of {entry.source} "
                        "overlaps; separate them with `question_split`"
                    )
            elif trained and set(entry.tasks) & set(trained.tasks):
                problems.append(
                    f"pairs.{key}.judges: {name!r} is trained on answers to the same tasks ({training_set}); name other tasks"
                )
    return problems


def _disjoint(first: Any, second: Any) -> bool:
    """Return whether no value passes both filters."""
    listed = [value if isinstance(value, list) else [value] for value in (first, second)]
    return not any(value in listed[1] for value in listed[0])


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return max(first[0], second[0]) < min(first[1], second[1])


def check_capabilities(plan: Plan) -> list[str]:
    """Return uses of models and judges that they do not support."""
    generated_sets = {key: entry for key, entry in plan.config.pairs.items() if not entry.source}
    unknown = [
        unknown_name(f"pairs.{key}", name, "defined under models", plan.models)
        for key, entry in generated_sets.items()
        for name in [*([] if entry.models == "all" else entry.models), *([entry.baseline] if entry.baseline else [])]
        if name not in plan.models
    ]
    if unknown:
        return unknown
    problems = []
    for key, entry in generated_sets.items():
        if not plan.pair_parts(key):
            problems.append(f"pairs.{key}: no two of its models have answers to the same task; fix its models or tasks")
        if entry.gold:
            problems += verdict_problems(plan, f"pairs.{key}.gold", entry.gold, plan.pair_answers(key))
    for name in plan.trained_pair_judges:
        problems += [
            f"judges.{name}.pairs: {key!r} has no labels; give it a gold judge"
            for key in plan.pair_judge(name).pairs or []
            if not (entry := plan.config.pairs[key]).source and not entry.gold
        ]
    return problems
