"""The configuration with the blocks of all judge kinds: its model, its validation, its JSON schema, and its names resolved."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, create_model

from bert_judge import tasks
from bert_judge.assets.prepare import GENERAL
from bert_judge.config import (
    Config,
    Dataset,
    Filter,
    ImportedModel,
    JudgeConfig,
    LocalModel,
    Model,
    SimulatedModel,
    StudentModel,
    TaskSource,
    validation,
)
from bert_judge.config.base import Name
from bert_judge.config.validation import entries, listed_tasks, strings
from bert_judge.judges import registry
from bert_judge.judges.registry import JudgeKind, Spec
from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tasks.registry import published_sources

# Names in a line about models whose name changes.
MAX_RENAMED = 3


def config_model() -> type[Config]:
    """Return `Config` with the blocks of all registered judge kinds."""
    return _assemble(tuple(kind.config for kind in registry.kinds()))


@cache
def _assemble(models: tuple[type[JudgeConfig], ...]) -> type[Config]:
    blocks: Any = reduce(or_, models)
    judges: Any = dict[Name, Annotated[blocks, Field(discriminator="kind")]]
    field = Field(min_length=1, description=Config.model_fields["judges"].description)
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, judges=(judges, field))


def parse(raw: Mapping[str, Any]) -> Config:
    """Validate a configuration. Raises ConfigError: with one line per error."""
    config: Config | None = None
    shape: list[str] = []
    try:
        # Accept only the documented keys, not the Python names of fields with an alias.
        config = config_model().model_validate(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        shape = validation.check_shape(raw, error.errors(), json_schema())
    lines = [*shape, *validation.check_names(raw)]
    if lines or config is None:
        raise ConfigError(lines)
    return config


def json_schema() -> dict[str, Any]:
    """Return the JSON schema, which editors use for completion and validation."""
    schema = TypeAdapter(config_model()).json_schema(by_alias=True)
    # `add_suited_judges` adds them.
    schema["required"] = [name for name in schema["required"] if name not in ("judges", "scorers")]
    return schema


# --- judges that suit the tasks, in a configuration that has none ---

# Name of the judge that chooses another for each task.
SUITED = "suited"


def add_suited_judges(raw: dict[str, Any]) -> None:
    """Add judges and scorers to a configuration that has neither: the judges that suit each test task, and `general` beside them.

    Tasks of one kind are scored by the judges themselves, tasks of several kinds by a judge of kind `per_task`.
    """
    if "judges" in raw or "scorers" in raw:
        return
    defaults = read_yaml(Path(__file__).with_name("suited_judges.yaml"))
    names = listed_tasks(raw, "test")
    by_task = {task: defaults["suited"].get(_hint(raw, task), [GENERAL]) for task in names}
    used = dict.fromkeys([GENERAL, *(name for judges in by_task.values() for name in judges)])
    raw["judges"] = {name: defaults["judges"][name] for name in used}
    special = {task: judges for task, judges in by_task.items() if judges != [GENERAL]}
    if special:
        raw["judges"][SUITED] = {"kind": "per_task", "judges": [GENERAL], "tasks": special}
    raw["scorers"] = [*([SUITED] if special else []), GENERAL]


def _hint(raw: Mapping[str, Any], task: str) -> str:
    """Return the judge that a task names, or else its family; empty for an unknown task, which another check reports."""
    file_tasks = entries(raw, "tasks", "imported") | entries(raw, "tasks", "sources")
    if task in file_tasks:
        return str(file_tasks[task].get("judge") or file_tasks[task].get("family"))
    if source := published_sources().get(task):
        return source.judge or source.family
    try:
        tasks.load_files(strings(raw.get("task_files")))
        return tasks.find(task).judge or tasks.find(task).family
    except InputError:
        return ""


# --- names, tables and their relations ---

# Name of the source of attacks on judges, in a model's place. No model of a configuration can have this name; its tables are stored
# like those of models, so that every rule that labels answers labels these too.
ATTACKS = "_attacks"


@dataclass(frozen=True)
class ResolvedConfig:
    """A checked configuration with its names resolved: models, tasks, judges, and the tables they need.

    Attributes:
        config: the validated configuration.
        models: every model by its name; keys with `*` are replaced by the models they stand for.
        left_out: a line for each optional model that is not installed.
    """

    config: Config
    models: Mapping[str, Model]
    left_out: Sequence[str] = ()

    @property
    def tasks(self) -> list[str]:
        return [*self.config.tasks.train, *self.config.tasks.test]

    def judges(self, kind: str) -> list[str]:
        return [name for name, judge in self.config.judges.items() if judge.kind == kind]

    def kind_of(self, judge: str) -> JudgeKind:
        return registry.find(self.config.judges[judge].kind)

    def judges_of_rule(self, rule: str) -> list[str]:
        """Return the names of the judges whose tables this rule labels."""
        return [name for name, block in self.config.judges.items() if registry.find(block.kind).label_rule(block) == rule]

    @property
    def base_models(self) -> list[str]:
        """Return the models that are not students; judges and students may be trained on their answers."""
        return [name for name, model in self.models.items() if not isinstance(model, StudentModel)]

    @property
    def answer_sources(self) -> list[str]:
        """Return the models, and the source of attacks if attacks are configured."""
        return [*self.models, *([ATTACKS] if self.config.attacks else [])]

    def models_of_generator(self, generator: str) -> list[str]:
        return [name for name, model in self.models.items() if model.generator == generator]

    def answers(self, model: str, task: str) -> bool:
        """Return whether a model has answers to a task; an imported model only has answers to tasks of its own files."""
        if model == ATTACKS:
            return task in self.attack_tasks
        entry = self.models[model]
        if not isinstance(entry, ImportedModel):
            return True
        imported = self.config.tasks.imported.get(task)
        return imported is not None and imported.source in entry.source

    @cached_property
    def score_tables(self) -> list[tuple[str, str]]:
        """Return (model, task) of every score table, sorted, so that the order in the configuration does not matter."""
        return sorted((m, t) for t in self.config.tasks.test for m in self.models if self.answers(m, t))

    @property
    def attack_tasks(self) -> list[str]:
        """Return the test tasks whose questions the attacks use, sorted."""
        attacks = self.config.attacks
        if attacks is None:
            return []
        return sorted(self.config.tasks.test if attacks.tasks == "all" else attacks.tasks)

    def dataset_tables(self, dataset: str) -> list[tuple[str, str]]:
        """Return (model, task) of every table that a dataset merges, sorted; input files have the same order."""
        return self._answer_tables(self.config.datasets[dataset])

    def filter_tables(self, name: str) -> list[tuple[str, str]]:
        """Return (model, task) of every table that a filter selects from, sorted; input files have the same order."""
        return self._answer_tables(self.config.filters[name])

    def _answer_tables(self, entry: Dataset | Filter) -> list[tuple[str, str]]:
        models = self.base_models if entry.models == "all" else entry.models
        return sorted((m, t) for t in entry.tasks for m in models if self.answers(m, t))

    def weakly_labelled_tables(self, dataset: str) -> list[tuple[str, str]]:
        """Return (model, task) of the tables in which a dataset's weak_teacher fills in missing labels, sorted."""
        weak_teacher = self.config.datasets[dataset].weak_teacher
        return [(m, t) for m, t in self.dataset_tables(dataset) if weak_teacher and t in weak_teacher.tasks]

    def training_tables(self, dataset: str) -> list[tuple[str, str, str]]:
        """Return (judge, model, task) of every label table that a dataset uses."""
        entry = self.config.datasets[dataset]
        labels = [(entry.teacher, *pair) for pair in self.dataset_tables(dataset)]
        return labels + [(entry.weak_teacher.teacher, *pair) for pair in self.weakly_labelled_tables(dataset) if entry.weak_teacher]

    def family(self, task: str) -> str:
        entry = self.config.tasks.imported.get(task) or self.source_of(task)
        return entry.family if entry else tasks.find(task).family

    def source_of(self, task: str) -> TaskSource | None:
        """Return the data set that a task's questions come from; None for a task of a function or an imported file."""
        if task in self.config.tasks.imported:
            return None
        return self.config.tasks.sources.get(task) or published_sources().get(task)

    def import_path(self, name: str) -> Path:
        return Path(self.config.imports[name].path)

    def source_file(self, task: str) -> Path | None:
        """Return the file that a task's questions come from: an imported file, a data set, a user's task file, or None."""
        if imported := self.import_of(task):
            return self.import_path(imported)
        source = self.source_of(task)
        return Path(source.path) if source and source.path else tasks.file_of(task)

    def import_of(self, task: str) -> str | None:
        """Return the import that a task's questions come from; None if they are not imported."""
        imported = self.config.tasks.imported.get(task)
        return imported.source if imported else None

    def verdict_import(self, judge: str, task: str) -> str | None:
        """Return the import that holds an imported judge's verdicts on a task; None if it is missing or ambiguous.

        This is the task's own file if the judge reads it, otherwise the only file of the judge that no task uses.
        """
        entry: Any = self.config.judges[judge]
        task_import = self.import_of(task)
        if task_import in entry.source:
            return task_import
        used_imports = {imported.source for imported in self.config.tasks.imported.values()}
        verdicts_only = [name for name in entry.source if name not in used_imports]
        return verdicts_only[0] if len(verdicts_only) == 1 else None

    @cached_property
    def assets(self) -> dict[str, Spec]:
        """Return what `prepare` downloads to a local folder: asset name → repository and revision."""
        models = {
            f"model-{name}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for name, m in self.models.items()
            if isinstance(m, LocalModel) and not isinstance(m, StudentModel)
        }
        # All students of a key have the same base model.
        models |= {
            f"base-{key}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for key, m in self.config.models.items()
            if isinstance(m, StudentModel)
        }
        judges = {
            asset: spec
            for name, block in self.config.judges.items()
            for asset, spec in self.kind_of(name).assets(name, block).items()
        }
        data_sets = {
            f"task-{name}": {
                "repository": source.repository,
                "revision": source.revision,
                "data_set": {"config": source.config, "split": source.split},
            }
            for name in self.tasks
            if (source := self.source_of(name)) and source.repository
        }
        return {**models, **judges, **data_sets}

    @property
    def measured_cascades(self) -> dict[str, list[str]]:
        """Return cascade → its judges, for the cascades that are scorers; empty without a gold judge."""
        scored = [name for name in self.config.scorers if self.config.judges[name].kind == "cascade"]
        return {name: list(self.kind_of(name).depends_on(self.config.judges[name]).judges) for name in scored if self.config.gold}

    @property
    def corrects_accuracy(self) -> bool:
        """Return whether the audit has labels to correct accuracies with."""
        audit = self.config.audit
        return audit is not None and (audit.labels is not None or audit.labels_from == "gold")

    def styles(self) -> dict[str, str]:
        """Return the most frequent style of each simulated model that is scored."""
        style_by_model: dict[str, str] = {}
        for model in sorted({model for model, _ in self.score_tables}):
            if isinstance(entry := self.models[model], SimulatedModel):
                weights = {entry.style: 1.0} if isinstance(entry.style, str) else entry.style
                style_by_model[model] = max(weights, key=lambda style: weights[style])
        return style_by_model


def dump(block: Any, without: set[str] | None = None, only: set[str] | None = None) -> Spec:
    """Convert a section of the configuration to plain JSON, optionally without or with only some keys."""
    return block.model_dump(mode="json", exclude=without, include=only)


# --- keys of `models` that stand for several models ---


@dataclass(frozen=True)
class Student:
    """One student of a key: the filter that selects its training answers, and the percentage as written in names and paths."""

    key: str
    filter: str
    keep: str

    @property
    def name(self) -> str:
        return f"{self.key}-{self.filter}-{self.keep}"


def list_students(config: Config) -> list[Student]:
    return [
        Student(key, name, f"{percent:g}")
        for key, entry in config.models.items()
        if isinstance(entry, StudentModel)
        for name in entry.filters
        for percent in config.filters[name].percents
    ]


def expand_models(config: Config, models_by_import: Mapping[str, Sequence[str]]) -> tuple[dict[str, Model], list[str]]:
    """Replace keys by the models that they stand for; also return the problems of such keys.

    A key with a `*` stands for the models of its files whose names match, a student's key for one model per filter and percentage.

    Args:
        models_by_import: import → names of the models in its file.
    """
    models: dict[str, Model] = {k: m for k, m in config.models.items() if "*" not in k and not isinstance(m, StudentModel)}
    problems: list[str] = []
    listed_names = {entry.model_name or key for key, entry in models.items() if isinstance(entry, ImportedModel)}
    for pattern, entry in config.models.items():
        if "*" not in pattern:
            continue
        if not isinstance(entry, ImportedModel) or entry.model_name is not None:
            problems.append(
                f"models.{pattern}: only an imported model without `model_name` may have a * in its key; write the name out"
            )
            continue
        matched: dict[str, list[str]] = {}
        for source in entry.source:
            for model_name in models_by_import.get(source, ()):
                if fnmatch.fnmatchcase(model_name, pattern):
                    matched.setdefault(model_name, []).append(source)
        if not matched and any(source in models_by_import for source in entry.source):
            problems.append(f"models.{pattern}: no model in its files has such a name; fix the key")
        for model_name, sources in sorted(matched.items()):
            # A model that is listed by name has its own entry.
            if model_name in listed_names:
                continue
            key = plain_name(model_name)
            if key in models:
                problems.append(
                    f"models.{pattern}: {model_name!r} would be called {key!r}, which is taken; list it with `model_name`"
                )
            models[key] = ImportedModel(generator="imported", source=sources, model_name=model_name)
    return models, problems + _add_students(config, models)


def _add_students(config: Config, models: dict[str, Model]) -> list[str]:
    """Add the students to `models` in place; return the problems of their names."""
    problems = []
    for student in list_students(config):
        if student.name in models:
            problems.append(f"models.{student.key}: a student would be called {student.name!r}, which is taken; rename one")
        models[student.name] = config.models[student.key]
    return problems


def describe_plain_names(models: Mapping[str, Model]) -> str | None:
    """Say which models of files have another name in the results, whose paths contain it; None if none has."""
    imported = {key: entry.model_name for key, entry in models.items() if isinstance(entry, ImportedModel) and entry.model_name}
    renamed = [f"{name!r} is called {key!r}" for key, name in imported.items() if key == plain_name(name) != name]
    more = f", and {len(renamed) - MAX_RENAMED} more" if len(renamed) > MAX_RENAMED else ""
    names = ", ".join(renamed[:MAX_RENAMED])
    return f"names of models that become parts of paths: {names}{more}" if renamed else None


def plain_name(text: str) -> str:
    """Turn the name of a model in a file into a valid folder name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"
