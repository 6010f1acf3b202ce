"""Check a configuration of valid shape: missing files, unknown tasks, sections that contradict each other.

Each check returns a list of problems, one line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bert_judge import tasks
from bert_judge.assets.prepare import local_folder
from bert_judge.candidates.importers import files
from bert_judge.config import Attacks, Audit, Config, Import, ImportedModel
from bert_judge.config.validation import entries, listed_tasks, strings, unknown_name
from bert_judge.judges import registry
from bert_judge.judges.registry import Dependencies
from bert_judge.plan.resolved_config import import_path, resolve_data_path
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.sources import published_sources

if TYPE_CHECKING:
    from bert_judge.plan import Plan


def check_paths(raw: Mapping[str, Any], data: Path | None) -> list[str]:
    """Return the imported files that do not exist."""
    valid_imports = {
        name: valid_entry for name, entry in entries(raw, "imports").items() if (valid_entry := _validate_import(entry))
    }
    problems = []
    # All relative paths share the problem of the data folder.
    relative = [name for name, entry in valid_imports.items() if not Path(entry.path).expanduser().is_absolute()]
    if relative and data is None:
        problems.append(
            f"data: no folder is given, and the paths of {', '.join(relative)} under imports are relative to it; "
            "add --config data=FOLDER or set BERT_JUDGE_DATA"
        )
    elif relative and data is not None and not data.is_dir():
        problems.append(f"data: {data}: no such folder; fix --config data=FOLDER or BERT_JUDGE_DATA")
    if problems:
        valid_imports = {name: entry for name, entry in valid_imports.items() if name not in relative}
    for name, entry in valid_imports.items():
        path = import_path(entry, data)
        if path.is_file():
            continue
        problem = "is a folder; name a file in it" if path.is_dir() else "no such file; fix the path or the data folder"
        problems.append(f"imports.{name}.path: {path}: {problem}")
    for name, raw_source in entries(raw, "tasks", "sources").items():
        relative_path = raw_source.get("path")
        if isinstance(relative_path, str) and not (path := resolve_data_path(relative_path, data)).is_file():
            problems.append(f"tasks.sources.{name}.path: {path}: no such file; fix the path or the data folder")
    return problems


def check_folders(raw: Mapping[str, Any]) -> list[str]:
    """Return the models and checkpoints that can only be local folders and do not exist."""
    references = [(f"models.{name}.model", entry.get("model")) for name, entry in entries(raw, "models").items()]
    for name, entry in entries(raw, "judges").items():
        references += [(f"judges.{name}.{key}", entry.get(key)) for key in ("checkpoint", "backbone")]
        model = entry.get("model")
        references.append((f"judges.{name}.model.model", model.get("model") if isinstance(model, Mapping) else None))
    problems = []
    for where, repository in references:
        if not isinstance(repository, str):
            continue
        try:
            local_folder(repository)
        except InputError as error:
            problems.append(f"{where}: {str(error).removeprefix('model ')}")
    return problems


def _validate_import(entry: Mapping[str, Any]) -> Import | None:
    """Parse an import, or return None if it is invalid; `parse` has already reported why."""
    try:
        return Import.model_validate(entry, by_alias=True, by_name=False)
    except ValidationError:
        return None


def check_tasks(raw: Mapping[str, Any]) -> list[str]:
    """Return the tasks that no function, file or data set defines, and name collisions."""
    problems = []
    for path in strings(raw.get("task_files")):
        try:
            tasks.load_files([path])
        except InputError as error:
            problems.append(str(error))
    imported, sources = entries(raw, "tasks", "imported"), entries(raw, "tasks", "sources")
    functions = set(tasks.names())
    problems += [
        f"task_files: {name!r} is the name of a published task; choose another" for name in functions & set(published_sources())
    ]
    # A published task may be redefined, from a file or with a revision; a task function may not.
    taken = dict.fromkeys(functions, "a task function")
    problems += [f"tasks.imported.{name}: {taken[name]} has this name; choose another" for name in imported if name in taken]
    taken |= dict.fromkeys(imported, "an imported task")
    problems += [f"tasks.sources.{name}: {taken[name]} has this name; choose another" for name in sources if name in taken]
    known_tasks = {*functions, *imported, *sources}
    if not problems:
        # A task file that fails hides its tasks, so calling them unknown would mislead.
        problems = [
            f"tasks.{split}: unknown task {name!r}; choose one of: {', '.join(sorted(known_tasks))}, "
            "or a published one (bert-judge tasks list)"
            for split in ("train", "test")
            for name in listed_tasks(raw, split)
            if name not in known_tasks and name not in published_sources()
        ]
    return problems


def _limit_problems(config: Config) -> list[str]:
    """Return the limits on tasks that are not listed, or whose answers come from a file."""
    listed = [*config.tasks.train, *config.tasks.test]
    problems = [
        f"tasks.limit: {name!r} is listed neither under train nor under test" for name in config.tasks.limit if name not in listed
    ]
    problems += [
        f"tasks.limit: {name!r} is an imported task; take a part of it with tasks.imported.{name}.question_split"
        for name in config.tasks.limit
        if name in config.tasks.imported
    ]
    return problems


def check_consistency(config: Config) -> list[str]:
    """Return the contradictions between sections that are each valid. Reads no file."""
    problems = [
        f"tasks.imported.{name}.question_split: {list(entry.question_split)} is empty; the first number must be the smaller"
        for name, entry in config.tasks.imported.items()
        if entry.question_split[0] >= entry.question_split[1]
    ]
    problems += _limit_problems(config)
    for name, dataset in config.datasets.items():
        problems += [
            f"datasets.{name}.tasks: {task!r} is a test task; list it under tasks.train, or set allow_test_questions: true"
            for task in dataset.tasks
            if task in config.tasks.test and not dataset.allow_test_questions
        ]
        if name in _label_datasets(config, name):
            teachers = " or ".join(map(repr, dataset.teachers))
            problems.append(f"datasets.{name}.teacher: {teachers} would be trained on its own labels; choose another")
        if dataset.weak_teacher and dataset.weak_teacher.teacher == dataset.teacher:
            problems.append(f"datasets.{name}.weak_teacher.teacher: {dataset.teacher!r} is the teacher itself; choose another")
    for name, block in config.judges.items():
        problems += registry.find(block.kind).checks(config, name, block)
    if config.gold is not None and config.gold not in config.scorers:
        problems.append(f"gold: {config.gold!r} must be listed under scorers too")
    problems += _attack_problems(config, config.attacks) if config.attacks else []
    return problems + (_audit_problems(config, config.audit) if config.audit else [])


def _attack_problems(config: Config, attacks: Attacks) -> list[str]:
    """Return attacked judges that look answers up instead of judging them, and attacked tasks that are not test tasks."""
    members = [name for judge in attacks.judges for name in depends_on(config, judge).judges]
    problems = [
        f"attacks.judges: {name!r} {problem}"
        for name in dict.fromkeys([*attacks.judges, *members])
        if (problem := registry.find(config.judges[name].kind).attack_problem(config.judges[name]))
    ]
    unknown = [] if attacks.tasks == "all" else [name for name in attacks.tasks if name not in config.tasks.test]
    return problems + [f"attacks.tasks: {name!r} must be listed under tasks.test too" for name in unknown]


def _audit_problems(config: Config, audit: Audit) -> list[str]:
    """Return judges that cannot be audited, and an audit sheet that is missing or would be overwritten."""
    problems = []
    if audit.judge not in config.scorers:
        problems.append(f"audit.judge: {audit.judge!r} must be listed under scorers too")
    if audit.labels_from == "gold" and config.gold is None:
        problems.append("audit.labels_from: no judge is named under gold; name one, or have people label the sheet")
    elif audit.labels_from == "gold" and audit.judge == config.gold:
        problems.append(f"audit.judge: {audit.judge!r} is gold and would be corrected by itself; choose another")
    if audit.labels is None:
        return problems
    path = Path(audit.labels).expanduser()
    if not path.is_file():
        problems.append(
            f"audit.labels: {path}: no such file; fill results/audit/sheet.html and save it there, or leave the key out until then"
        )
    elif path.resolve().is_relative_to(Path("results").resolve()):
        problems.append(f"audit.labels: {path}: a run overwrites files in that folder; keep human labels elsewhere")
    return problems


def depends_on(config: Config, judge: str) -> Dependencies:
    """Return the entries of the configuration that a judge is made from."""
    block = config.judges[judge]
    return registry.find(block.kind).depends_on(block)


def _label_datasets(config: Config, dataset: str) -> set[str]:
    """Return the datasets that the labels of a dataset depend on, following trained and fitted teachers."""
    datasets: set[str] = set()
    teachers = [*config.datasets[dataset].teachers]
    while teachers:
        dependencies = depends_on(config, teachers.pop())
        new_datasets = {*dependencies.datasets} - datasets
        teachers += [*dependencies.judges, *(teacher for name in new_datasets for teacher in config.datasets[name].teachers)]
        datasets |= new_datasets
    return datasets


def check_capabilities(plan: Plan, models_by_import: Mapping[str, Sequence[str]]) -> list[str]:
    """Return uses of models and judges that they do not support.

    Args:
        plan: the resolved configuration.
        models_by_import: import → names of the models in its file.
    """
    problems = _model_problems(plan, models_by_import)
    for name, dataset in plan.config.datasets.items():
        models_used = [] if dataset.models == "all" else dataset.models
        references = (("models", models_used), ("mix.per_model", dataset.mix.per_model))
        problems += [
            unknown_name(f"datasets.{name}.{key}", model, "defined under models", plan.models)
            for key, models in references
            for model in models
            if model not in plan.models
        ]
        if all(model in plan.models for model in models_used):
            if not plan.dataset_tables(name):
                problems.append(f"datasets.{name}: none of its models has answers to its tasks; fix its models or tasks")
            problems += verdict_problems(plan, f"datasets.{name}.teacher", dataset.teacher, plan.dataset_tables(name))
            if dataset.weak_teacher:
                where = f"datasets.{name}.weak_teacher.teacher"
                problems += verdict_problems(plan, where, dataset.weak_teacher.teacher, plan.weakly_labelled_tables(name))
    if not plan.score_tables:
        problems.append("tasks.test: no model has answers to any test task; add a model, or a task of the models' files")
    for judge in plan.config.scorers:
        problems += verdict_problems(plan, "scorers", judge, plan.score_tables)
    return problems


def _model_problems(plan: Plan, models_by_import: Mapping[str, Sequence[str]]) -> list[str]:
    problems = []
    for key, model in plan.models.items():
        if not isinstance(model, ImportedModel):
            continue
        model_name = model.model_name or key
        available = sorted({name for source in model.source for name in models_by_import.get(source, ())})
        if available and model_name not in (*available, files.EVERY_MODEL):
            problems.append(f"models.{key}: {model_name!r} is not in its files; set `model_name` to one of: {', '.join(available)}")
    return problems


def verdict_problems(plan: Plan, where: str, name: str, tables: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line if a judge that does not read answers has no verdicts on a required table, and the same for its members."""
    tables, kind = list(tables), plan.kind_of(name)
    reasons = (kind.table_problem(plan, name, model, task) for model, task in tables)
    problems = [f"{where}: {name!r} {problem}" for problem in reasons if problem][:1]
    members = kind.depends_on(plan.config.judges[name]).judges
    return problems + [problem for member in members for problem in verdict_problems(plan, f"judges.{name}.judges", member, tables)]


def models_in_files(config: Config, data: Path | None) -> tuple[dict[str, list[str]], list[str]]:
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
            models_by_import[source] = files.distinct_models(entry, import_path(entry, data))
        except InputError as error:
            problems.append(f"imports.{source}: {error}")
    return models_by_import, problems
