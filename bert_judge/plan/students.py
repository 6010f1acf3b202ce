"""Expand keys of `models` that stand for several models, and build the specs of filters and students.

A key with a `*` stands for the models of its files whose names match, a student's key for one model per filter and percentage.
"""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from bert_judge.config import Config, ImportedModel, LocalModel, Model, StudentModel
from bert_judge.config.datasets import CONTROLS
from bert_judge.judges.registry import Spec
from bert_judge.plan.configuration import dump
from bert_judge.plan.specs import CHAT_SETTINGS, Specs


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

    Args:
        config: the configuration.
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


def plain_name(text: str) -> str:
    """Turn the name of a model in a file into a valid folder name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"


class StudentSpecs(Specs):
    """Names and specs of filters and students."""

    @cached_property
    def students(self) -> dict[str, Student]:
        """Return model name → student."""
        return {student.name: student for student in list_students(self.config)}

    @cached_property
    def filtered(self) -> list[tuple[str, str]]:
        """Return (filter, percentage) of every table of filtered answers, as written in its path."""
        return [(name, f"{percent:g}") for name, entry in self.config.filters.items() for percent in entry.percents]

    def filter_judge(self, name: str) -> str | None:
        """Return the judge whose labels a filter uses; None for a control."""
        judge = self.config.filters[name].judge
        return None if judge in CONTROLS else judge

    def filtered_spec(self, filter: str, keep: str) -> Spec:
        """Return the spec of the answers that a filter keeps."""
        entry = self.config.filters[filter]
        settings = dump(entry, only={"judge", "per_question", "seed"})
        tables = [[m, t] for m, t in self.filter_tables(filter)]
        return {"filter": filter, "keep": float(keep), **settings, "tables": tables}

    def filter_overlap_spec(self, filter: str, task: str) -> Spec:
        """Return the spec of the check that no question of a test task is in a filter's tasks."""
        entry = self.config.filters[filter]
        return {"filter": filter, "allow_test_questions": entry.allow_test_questions, "train": entry.tasks, "test": [task]}

    def candidates_spec(self, model: str, task: str) -> Spec:
        """Return the spec of answers; a student's contains its training, and ignores other filters of its key."""
        spec = super().candidates_spec(model, task)
        if model not in self.students:
            return spec
        settings = {key: value for key, value in spec["settings"].items() if key not in ("filters", "training")}
        return {**spec, "settings": settings, "student": self.student_spec(model)}

    def student_spec(self, model: str) -> Spec:
        """Return the spec of a student's training."""
        student, entry = self.students[model], self.models[model]
        assert isinstance(entry, StudentModel)
        return {
            "student": model,
            "recipe": student.key,
            "base": dump(entry, only={"model", "revision"}),
            "settings": dump(entry, only=CHAT_SETTINGS),
            "training": dump(entry.training, without={*entry.training.run_time}),
            "prompt_style": self.config.prompt_style,
            "families": {task: self.family(task) for task in sorted(self.config.filters[student.filter].tasks)},
            "filter": self.filtered_spec(student.filter, student.keep),
        }

    def students_spec(self) -> Spec:
        """Return the spec of the comparison of students with each other and with their base models."""
        scored = {model for model, _ in self.score_tables}
        described = {
            name: {
                "recipe": student.key,
                "filter": student.filter,
                "chooser": self.config.filters[student.filter].judge,
                "keep": float(student.keep),
            }
            for name, student in sorted(self.students.items())
            if name in scored
        }
        recipes = sorted({self.students[name].key for name in described})
        bases = {recipe: base for recipe in recipes if (base := self._base_of(recipe)) and base in scored}
        return {"judges": self.config.scorers, "students": described, "bases": bases}

    def _base_of(self, recipe: str) -> str | None:
        """Return the model that is the base of a key's students; None if the configuration does not list it."""
        entry = self.config.models[recipe]
        assert isinstance(entry, StudentModel)
        origin = (entry.model, entry.revision)
        local_models = {name: m for name in self.base_models if isinstance(m := self.models[name], LocalModel)}
        return next((name for name, model in local_models.items() if (model.model, model.revision) == origin), None)
