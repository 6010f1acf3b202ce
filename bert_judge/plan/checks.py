"""Check a configuration of valid shape: missing files, unknown tasks, sections that contradict each other, missing answers.

Each check returns a list of problems, one line each.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tasks
from bert_judge.assets.prepare import find_gguf, local_folder
from bert_judge.config import Attacks, Audit, Config, Dataset, Filter, ImportedModel, PairSet
from bert_judge.config.base import NAMES
from bert_judge.config.datasets import CONTROLS
from bert_judge.config.validation import entries, find_names, listed_tasks, strings, unknown_name
from bert_judge.importers import files
from bert_judge.judges import registry
from bert_judge.judges.registry import Dependencies
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.tasks.registry import published_sources

if TYPE_CHECKING:
    from bert_judge.plan import Plan

# Folder of the label tables of pairs, at the place of a model's folder.
PAIRS_FOLDER = "pairs"
# Difference between the clocks of this machine and of a file server that is no fault.
MAX_CLOCK_SECONDS = 60


def check_paths(raw: Mapping[str, Any]) -> list[str]:
    """Return the imported files that do not exist, or are newer than now; see `resolve_paths`."""
    located = [(f"imports.{name}", entry.get("path")) for name, entry in entries(raw, "imports").items()]
    located += [(f"tasks.sources.{name}", entry.get("path")) for name, entry in entries(raw, "tasks", "sources").items()]
    paths = [(where, Path(path)) for where, path in located if isinstance(path, str)]
    problems = []
    data = raw.get("data")
    if isinstance(data, str) and not Path(data).is_dir():
        # All files in this folder share the problem.
        remaining = [(where, path) for where, path in paths if not path.absolute().is_relative_to(data)]
        if len(remaining) < len(paths):
            variable = re.search(r"\$\{?(\w+)", data)
            problem = f"the environment variable {variable[1]} is not set" if variable else f"{data}: no such folder"
            problems.append(f"data: {problem}; set the folder of the imported files with --data FOLDER")
        paths = remaining
    for where, path in paths:
        if not path.is_file():
            problem = "is a folder; name a file in it" if path.is_dir() else "no such file; fix the path or the data folder"
            problems.append(f"{where}.path: {path}: {problem}")
        elif (changed := path.stat().st_mtime) > time.time() + MAX_CLOCK_SECONDS:
            # Snakemake would end after the first job, because its output is older than this input.
            date = time.strftime("%Y-%m-%d %H:%M", time.localtime(changed))
            problems.append(f"{where}.path: {path}: was changed in the future ({date}); run touch {shlex.quote(str(path))}")
    return problems


def leave_out_optional_models(raw: dict[str, Any]) -> list[str]:
    """Remove the optional models that are not installed from a configuration; return a line for each."""
    lines = []
    for name, entry in entries(raw, "models").items():
        if entry.get("optional") is True and isinstance(repository := entry.get("model"), str):
            try:
                find_gguf(repository)
            except InputError as error:
                del raw["models"][name]
                lines.append(f"{name} is left out: {str(error).removeprefix('model ')}")
    return lines


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
            path = find_gguf(repository) or local_folder(repository)
            # Every published checkpoint has an owner.
            if not path and where.endswith(".checkpoint") and "/" not in repository:
                raise InputError(f"{repository!r}: no such folder; name a judge's folder, general, or owner/name on the hub")
        except InputError as error:
            problems.append(f"{where}: {str(error).removeprefix('model ')}")
    return problems


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
            f"tasks.{split}: unknown task {name!r}; {suggest(name, [*sorted(known_tasks), *published_sources()])}"
            for split in ("train", "test")
            for name in listed_tasks(raw, split)
            if name not in known_tasks and name not in published_sources()
        ]
    return problems


def _limit_problems(config: Config) -> list[str]:
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


def check_consistency(config: Config, raw: Mapping[str, Any]) -> list[str]:
    """Return the contradictions between sections that are each valid. Reads no file."""
    problems = _limit_problems(config)
    training_sets: dict[str, Dataset | Filter] = {f"datasets.{name}": entry for name, entry in config.datasets.items()}
    training_sets |= {f"filters.{name}": entry for name, entry in config.filters.items()}
    problems += [
        f"{where}.tasks: {task!r} is a test task; list it under tasks.train, or set allow_test_questions: true"
        for where, entry in training_sets.items()
        for task in entry.tasks
        if task in config.tasks.test and not entry.allow_test_questions
    ]
    for name, dataset in config.datasets.items():
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
    problems += _audit_problems(config, config.audit) if config.audit else []
    return [*problems, *_pair_problems(config, raw), *_filter_problems(config)]


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
    for path in (Path(sheet).expanduser() for sheet in audit.sheets):
        if not path.is_file():
            fix = "fill results/audit/sheet.html and save it there, or leave the key out until then"
            problems.append(f"audit.labels: {path}: no such file; {fix}")
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


def _filter_problems(config: Config) -> list[str]:
    return [
        f"filters.{name}.judge: {entry.judge!r} is reserved for a selection without a judge, but a judge has this name; "
        "rename the judge"
        for name, entry in config.filters.items()
        if entry.judge in CONTROLS and entry.judge in config.judges
    ]


def _pair_problems(config: Config, raw: Mapping[str, Any]) -> list[str]:
    """Return judges used where another kind is required, and pair sets that leak into training."""
    pairwise = {name for name, judge in config.judges.items() if registry.find(judge.kind).compares_pairs}
    problems = [
        f"{where}: {name!r} is of kind pairwise and compares two answers; name a judge of single answers"
        for where, name in _pointwise_uses(config, raw)
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
    if config.pairs and PAIRS_FOLDER in config.models:
        problems.append(f"models.{PAIRS_FOLDER}: verdicts on pairs are stored in a folder of this name; choose another name")
    return problems


def _pointwise_uses(config: Config, raw: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (location, name) of every judge that must judge single answers."""
    for path, section in NAMES["references"].items():
        if section == "judges" and path not in ("audit.judge", "pairs.*.judges") and not path.startswith("judges."):
            yield from ((where, name) for where, names in find_names(raw, path) for name in names)
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
            elif trained and _share_rows(entry, trained):
                problems.append(
                    f"pairs.{key}.judges: {name!r} is trained on {training_set}, whose part of the questions of {entry.source} "
                    "overlaps; separate them with `question_split`"
                )
            elif trained and set(entry.tasks) & set(trained.tasks):
                problems.append(
                    f"pairs.{key}.judges: {name!r} is trained on answers to the same tasks ({training_set}); name other tasks"
                )
    return problems


def _share_rows(first: PairSet, second: PairSet) -> bool:
    """Return whether two sets may read the same rows of a file: their questions overlap, and so do their filters."""
    low, high = zip(first.question_split, second.question_split, strict=True)
    if not first.source or first.source != second.source or max(low) >= min(high):
        return False
    return all(_overlap(first.where[column], second.where[column]) for column in first.where if column in second.where)


def _overlap(first: Any, second: Any) -> bool:
    """Return whether a value passes both filters."""
    listed = [value if isinstance(value, list) else [value] for value in (first, second)]
    return any(value in listed[1] for value in listed[0])


# --- a resolved plan: models and judges that are used for answers they do not have or cannot judge ---

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
    problems += _pair_table_problems(plan)
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


def _unknown_models(plan: Plan, where: str, names: Iterable[str], defined: Collection[str]) -> list[str]:
    return [unknown_name(where, name, "defined under models", defined) for name in names if name not in plan.models]


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


def _pair_table_problems(plan: Plan) -> list[str]:
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
