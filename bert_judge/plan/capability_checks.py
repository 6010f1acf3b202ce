"""Check a resolved plan: models and judges that are used for answers they do not have or cannot judge.

Each check returns a list of problems, one line each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bert_judge.config import Config, ImportedModel
from bert_judge.config.validation import unknown_name
from bert_judge.importers import files
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from bert_judge.plan import Plan

NO_ANSWERS = "none of its models has answers to its tasks; fix its models or tasks"


def models_in_files(config: Config) -> tuple[dict[str, list[str]], list[str]]:
    """Return import → names of the models in its file, for the imports that models come from, and the problems of the files."""
    # A file whose answers all belong to one model need not name models.
    imported_models = [
        model for model in config.models.values() if isinstance(model, ImportedModel) and model.model_name != files.EVERY_MODEL
    ]
    sources = dict.fromkeys(source for model in imported_models for source in model.source)
    models_by_import: dict[str, list[str]] = {}
    problems: list[str] = []
    for source in sources:
        entry = config.imports[source]
        try:
            models_by_import[source] = files.distinct_models(entry, Path(entry.path))
        except InputError as error:
            problems.append(f"imports.{source}: {error}")
    return models_by_import, problems


def check_capabilities(plan: Plan, models_by_import: Mapping[str, Sequence[str]]) -> list[str]:
    """Return uses of models and judges that they do not support.

    Args:
        plan: the resolved configuration.
        models_by_import: import → names of the models in its file.
    """
    problems = [*_column_problems(plan), *_imported_model_problems(plan, models_by_import)]
    for name, dataset in plan.config.datasets.items():
        problems += _unknown_models(plan, f"datasets.{name}.mix.per_model", dataset.mix.per_model, plan.models)
        unknown = _training_model_problems(plan, f"datasets.{name}.models", dataset.models)
        problems += unknown
        if unknown:
            continue
        if not plan.dataset_tables(name):
            problems.append(f"datasets.{name}: {NO_ANSWERS}")
        problems += _verdict_problems(plan, f"datasets.{name}.teacher", dataset.teacher, plan.dataset_tables(name))
        if dataset.weak_teacher:
            where = f"datasets.{name}.weak_teacher.teacher"
            problems += _verdict_problems(plan, where, dataset.weak_teacher.teacher, plan.weakly_labelled_tables(name))
    if not plan.score_tables:
        problems.append("tasks.test: no model has answers to any test task; add a model, or a task of the models' files")
    for judge in plan.config.scorers:
        problems += _verdict_problems(plan, "scorers", judge, plan.score_tables)
    problems += _pair_problems(plan)
    for name, entry in plan.config.filters.items():
        unknown = _training_model_problems(plan, f"filters.{name}.models", entry.models)
        problems += unknown
        if not unknown and not plan.filter_tables(name):
            problems.append(f"filters.{name}: {NO_ANSWERS}")
        if not unknown and (chooser := plan.filter_judge(name)):
            problems += _verdict_problems(plan, f"filters.{name}.judge", chooser, plan.filter_tables(name))
    return problems


def _column_problems(plan: Plan) -> list[str]:
    """Return the columns that the imported files lack for their use by tasks, models, judges and pairs."""
    imports, of_task = plan.config.imports, ("question", "references")
    # Import and roles → columns of these roles in addition to those of the import.
    uses: dict[tuple[str, tuple[str, ...]], Mapping[str, str]] = {
        (task.source, of_task): {} for task in plan.config.tasks.imported.values()
    }
    sources = [source for model in plan.models.values() if isinstance(model, ImportedModel) for source in model.source]
    uses |= {(source, ("candidate",)): {} for source in sources if (source, of_task) in uses}
    for judge in filter(lambda name: plan.kind_of(name).looks_up_labels, plan.config.judges):
        for source in dict.fromkeys(verdicts for task in plan.tasks if (verdicts := plan.verdict_import(judge, task))):
            aspects, labels = imports[source].aspects, {"label": imports[source].columns.label}
            if aspects:
                labels = aspects.columns or {"aspect": str(aspects.name), "value": str(aspects.value)}
            uses |= {(source, of_task): {}, (source, tuple(labels)): labels}
    for pairs in plan.config.pairs.values():
        if pairs.source:
            uses[pairs.source, ("question", "answer_a", "answer_b")] = imports[pairs.source].pair_columns.model_dump()
    problems = []
    for (name, roles), columns in uses.items():
        spec = imports[name].model_dump(mode="json")
        try:
            files.check_columns({**spec, "columns": spec["columns"] | columns}, plan.import_path(name), roles)
        except InputError as error:
            problems.append(f"imports.{name}: {error}")
    return list(dict.fromkeys(problems))


def _imported_model_problems(plan: Plan, models_by_import: Mapping[str, Sequence[str]]) -> list[str]:
    problems = []
    for key, model in plan.models.items():
        if not isinstance(model, ImportedModel):
            continue
        model_name = model.model_name or key
        available = sorted({name for source in model.source for name in models_by_import.get(source, ())})
        if available and model_name not in (*available, files.EVERY_MODEL):
            problems.append(f"models.{key}: {model_name!r} is not in its files; set `model_name` to one of: {', '.join(available)}")
    return problems


def _unknown_models(plan: Plan, where: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    return [unknown_name(where, name, "defined under models", known) for name in names if name not in plan.models]


def _training_model_problems(plan: Plan, where: str, models: Sequence[str]) -> list[str]:
    """Return models that are unknown, or that are students and cannot provide training answers; none for `all`."""
    names = [] if models == "all" else models
    students = [name for name in names if name in plan.students]
    return _unknown_models(plan, where, names, plan.base_models) + [
        f"{where}: {name!r} is a student and cannot provide training answers; name other models" for name in students
    ]


def _verdict_problems(plan: Plan, where: str, name: str, tables: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line if a judge that does not read answers has no verdicts on a required table, and the same for its members."""
    kind = plan.kind_of(name)
    reasons = (kind.table_problem(plan, name, model, task) for model, task in tables)
    problems = [f"{where}: {name!r} {problem}" for problem in reasons if problem][:1]
    for member in kind.depends_on(plan.config.judges[name]).judges:
        # Another check reports a member that must not be one, such as the judge itself.
        if plan.kind_of(member).member_problem(member) is None:
            of_member = [table for table in tables if member in _sources(plan, name, table)] if kind.combines_labels else tables
            problems += _verdict_problems(plan, f"judges.{name}.judges", member, of_member)
    return problems


def _sources(plan: Plan, judge: str, table: tuple[str, str]) -> list[str]:
    """Return the judges from whose labels a table of labels is combined."""
    return [name for name, _, _ in plan.source_tables(judge, *table)]


def _pair_problems(plan: Plan) -> list[str]:
    generated_sets = {key: entry for key, entry in plan.config.pairs.items() if not entry.source}
    unknown = [
        problem
        for key, entry in generated_sets.items()
        for names in ([] if entry.models == "all" else entry.models, [entry.baseline] if entry.baseline else [])
        for problem in _unknown_models(plan, f"pairs.{key}", names, plan.models)
    ]
    if unknown:
        return unknown
    problems = []
    for key, entry in generated_sets.items():
        if not plan.pair_parts(key):
            problems.append(f"pairs.{key}: no two of its models have answers to the same task; fix its models or tasks")
        if entry.gold:
            problems += _verdict_problems(plan, f"pairs.{key}.gold", entry.gold, plan.pair_answers(key))
    for name in plan.trained_judges:
        problems += [
            f"judges.{name}.pairs: {key!r} has no labels; give it a gold judge"
            for key in plan.kind_of(name).depends_on(plan.config.judges[name]).pair_sets
            if not (entry := plan.config.pairs[key]).source and not entry.gold
        ]
    return problems
