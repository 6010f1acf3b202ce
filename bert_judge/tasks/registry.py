"""Tasks by name, registered functions and the 22 published ones (`sources.yaml`); and their prompts (`prompts.yaml`), one
wording per family in three styles.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml

if TYPE_CHECKING:
    from bert_judge.config import Family, SuitedJudge, TaskSource

# Modules of this package that define tasks; imported on first use.
BUILT_IN = ("bert_judge.tasks.demo",)


@dataclass(frozen=True)
class Sample:
    """One question.

    Attributes:
        question: including the options.
        answer_kind: one of `tables.ANSWER_KINDS`.
    """

    question: str
    references: tuple[str, ...]
    answer_kind: str = "text"
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Task:
    """A named source of samples."""

    name: str
    family: Family
    samples: Callable[[], Iterable[Sample]]
    judge: SuitedJudge | None = None


_tasks: dict[str, Task] = {}
_files: dict[str, Path] = {}


def task(
    name: str, family: Family, judge: SuitedJudge | None = None
) -> Callable[[Callable[[], Iterable[Sample]]], Callable[[], Iterable[Sample]]]:
    """Return a decorator that registers a function without arguments that yields `Sample`s.

    Args:
        judge: that suits the task, if a configuration has no `judges`; see `TaskSource`.

    Raises:
        InputError: another function is registered under the name.
    """

    def register(samples: Callable[[], Iterable[Sample]]) -> Callable[[], Iterable[Sample]]:
        if (existing := _tasks.get(name)) and existing.samples.__code__.co_filename != samples.__code__.co_filename:
            raise InputError(
                f"{samples.__code__.co_filename}: task {name!r} exists already in {existing.samples.__code__.co_filename}"
            )
        _tasks[name] = Task(name, family, samples, judge)
        return samples

    return register


def load_files(paths: Iterable[str | Path]) -> None:
    """Import the user's task files, which register their tasks. Raises InputError: a file is missing or fails to run."""
    _load_built_in()
    for path in map(Path, paths):
        registered = set(_tasks)
        spec = importlib.util.spec_from_file_location(f"bert_judge_user_tasks.{path.stem}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise InputError(f"task_files: {path}: no such Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"task_files: {path}: {type(error).__name__}: {error}") from error
        _files.update({name: path for name in _tasks if name not in registered})


def names() -> list[str]:
    """Return the names of all registered tasks."""
    _load_built_in()
    return sorted(_tasks)


def find(name: str) -> Task:
    """Return the task with this name. Raises InputError: no task has this name."""
    _load_built_in()
    if name not in _tasks:
        raise InputError(f"unknown task {name!r}; available: {', '.join(sorted(_tasks))}")
    return _tasks[name]


def file_of(name: str) -> Path | None:
    """Return the user's file that defines a task; None for a built-in one."""
    return _files.get(name)


def _load_built_in() -> None:
    for module in BUILT_IN:
        importlib.import_module(module)


@cache
def published_sources() -> Mapping[str, TaskSource]:
    """Return the source of each published task, by name."""
    from bert_judge.config import TaskSource

    sources = read_yaml(Path(__file__).with_name("sources.yaml"))
    return {name: TaskSource.model_validate(entry) for name, entry in sources.items()}


# --- prompts ---

_PROMPTS = read_yaml(Path(__file__).with_name("prompts.yaml"))
MARKER: str = _PROMPTS["marker"]
ANSWER_FORMATS: dict[str, str] = _PROMPTS["answer_formats"]
INSTRUCTIONS: dict[str, str] = _PROMPTS["instructions"]


def prompt(sample: Sample, family: str, style: str) -> str:
    """Return the prompt for a question of a `config.Family`, in the style `free`, `soft` or `strict`."""
    return sample.question + instruction(family, style)


def instruction(family: str, style: str) -> str:
    """Return the instruction after the question; empty for `free`. Raises InputError: unknown family."""
    if family not in ANSWER_FORMATS:
        raise InputError(f"family: unknown value {family!r}; choose one of {', '.join(ANSWER_FORMATS)}")
    return INSTRUCTIONS[style].format(marker=MARKER, answer_format=ANSWER_FORMATS[family])


def style_of(prompt: str, question: str) -> str:
    """Return the style of a prompt: `free`, `soft` or `strict`."""
    text = prompt.removeprefix(question)
    if MARKER not in text:
        return "free"
    return "strict" if "respond only" in text else "soft"
