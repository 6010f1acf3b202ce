"""Check a configuration of valid shape: missing files, unknown tasks, sections that contradict each other.

Each check returns a list of problems, one line each.
"""

import re
import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge import tasks
from bert_judge.assets.prepare import find_gguf, local_folder
from bert_judge.config import Attacks, Audit, Config, Dataset, Filter, PairSet
from bert_judge.config.base import NAMES
from bert_judge.config.datasets import CONTROLS
from bert_judge.config.validation import entries, find_names, listed_tasks, strings
from bert_judge.judges import registry
from bert_judge.judges.registry import Dependencies
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.tasks.registry import published_sources

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
        remaining = [(where, path) for where, path in paths if not path.is_relative_to(data)]
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
            found = find_gguf(repository) or local_folder(repository)
            # Every published checkpoint has an owner.
            if not found and where.endswith(".checkpoint") and "/" not in repository:
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
