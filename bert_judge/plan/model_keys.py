"""Keys of `models` that stand for several models: with a `*`, for those of its files whose names match; a student's, for one per
filter and percentage."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bert_judge.config import Config, ImportedModel, Model, StudentModel


@dataclass(frozen=True)
class Student:
    """One student of a key: the filter that chose what it learns from, and the percentage, as names and paths say it."""

    key: str
    filter: str
    keep: str

    @property
    def name(self) -> str:
        return f"{self.key}-{self.filter}-{self.keep}"


def students(config: Config) -> list[Student]:
    """Every student of a configuration."""
    return [
        Student(key, name, f"{percent:g}")
        for key, entry in config.models.items()
        if isinstance(entry, StudentModel)
        for name in entry.filters
        for percent in config.filters[name].percents
    ]


def expand(config: Config, in_files: Mapping[str, Sequence[str]]) -> tuple[dict[str, Model], list[str]]:
    """Replace keys by the models that they stand for; and what is wrong with such keys.

    Args:
        config: the configuration.
        in_files: import → names of the models in the file.
    """
    models: dict[str, Model] = {k: m for k, m in config.models.items() if "*" not in k and not isinstance(m, StudentModel)}
    faults: list[str] = []
    listed = {entry.model_name or key for key, entry in models.items() if isinstance(entry, ImportedModel)}
    for pattern, entry in config.models.items():
        if "*" not in pattern:
            continue
        if not isinstance(entry, ImportedModel) or entry.model_name is not None:
            faults.append(
                f"models.{pattern}: only an imported model without `model_name` may have a * in its key; write the name out"
            )
            continue
        matched: dict[str, list[str]] = {}
        for source in entry.source:
            for named in in_files.get(source, ()):
                if fnmatch.fnmatchcase(named, pattern):
                    matched.setdefault(named, []).append(source)
        if not matched and any(source in in_files for source in entry.source):
            faults.append(f"models.{pattern}: no model in its files has such a name; mend the key")
        for named, sources in sorted(matched.items()):
            # A model that is listed by name has its own entry.
            if named in listed:
                continue
            key = plain_name(named)
            if key in models:
                faults.append(f"models.{pattern}: {named!r} would be called {key!r}, which is taken; list it with `model_name`")
            models[key] = ImportedModel(generator="imported", source=sources, model_name=named)
    return models, faults + _add_students(config, models)


def _add_students(config: Config, models: dict[str, Model]) -> list[str]:
    """Put the students among the models; and what is wrong with their names."""
    faults = []
    for student in students(config):
        if student.name in models:
            faults.append(f"models.{student.key}: one of its students would be called {student.name!r}, which is taken; rename one")
        models[student.name] = config.models[student.key]
    return faults


def plain_name(text: str) -> str:
    """A model's name in a file as a name that can be a folder."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"
