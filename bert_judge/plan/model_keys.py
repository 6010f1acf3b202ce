"""Expand keys of `models` that stand for several models.

A key with a `*` stands for the models of its files whose names match, a student's key for one model per filter and percentage.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bert_judge.config import Config, ImportedModel, Model, StudentModel


@dataclass(frozen=True)
class Student:
    """One student of a key: the filter that selects its training answers, and the percentage as written in names and paths."""

    key: str
    filter: str
    keep: str

    @property
    def name(self) -> str:
        return f"{self.key}-{self.filter}-{self.keep}"


def students(config: Config) -> list[Student]:
    """Return every student of a configuration."""
    return [
        Student(key, name, f"{percent:g}")
        for key, entry in config.models.items()
        if isinstance(entry, StudentModel)
        for name in entry.filters
        for percent in config.filters[name].percents
    ]


def expand(config: Config, models_by_import: Mapping[str, Sequence[str]]) -> tuple[dict[str, Model], list[str]]:
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
    for student in students(config):
        if student.name in models:
            problems.append(f"models.{student.key}: a student would be called {student.name!r}, which is taken; rename one")
        models[student.name] = config.models[student.key]
    return problems


def plain_name(text: str) -> str:
    """Turn the name of a model in a file into a valid folder name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"
