"""What a configuration asks for: the models, the tables, and for each table the spec that fully describes it.

A spec is plain JSON and holds all that gives a table its meaning, and nothing else: no paths, thread counts or batch sizes. Two
configurations with equal specs have equal tables, so the workflow reruns a job when its spec changes and only then.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bert_judge import tasks
from bert_judge.config import (
    BertJudge,
    Config,
    HFModel,
    Import,
    ImportedJudge,
    ImportedModel,
    Model,
    SimulatedJudge,
    SimulatedModel,
    parse,
)
from bert_judge.errors import ConfigError, InputError
from bert_judge.importers import files

# Raised when the meaning of a stage's output changes, so that old outputs are made anew.
STAGE_VERSIONS = {
    "prepared": 1,
    "task": 1,
    "candidates": 1,
    "labels": 1,
    "dataset": 1,
    "overlap": 1,
    "judge": 1,
    "scores": 1,
    "standings": 1,
    "report": 1,
}

Spec = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """A checked configuration with its names resolved.

    Attributes:
        config: as written.
        data: folder of the imported files.
        models: every model by its name; keys with `*` are replaced by the models they stand for.
    """

    config: Config
    data: Path | None
    models: Mapping[str, Model]

    # --- names ---

    @property
    def tasks(self) -> list[str]:
        return [*self.config.tasks.train, *self.config.tasks.test]

    def judges(self, kind: str) -> list[str]:
        """Names of the judges of a kind."""
        return [name for name, judge in self.config.judges.items() if judge.kind == kind]

    def generated_by(self, generator: str) -> list[str]:
        """Names of the models of a generator."""
        return [name for name, model in self.models.items() if model.generator == generator]

    def answers(self, model: str, task: str) -> bool:
        """Whether a model has answers to a task: an imported one only to tasks of its own files."""
        entry = self.models[model]
        if not isinstance(entry, ImportedModel):
            return True
        imported = self.config.tasks.imported.get(task)
        return imported is not None and imported.source in entry.source

    @cached_property
    def scored(self) -> list[tuple[str, str]]:
        """(model, task) of every score table."""
        return [(m, t) for t in self.config.tasks.test for m in self.models if self.answers(m, t)]

    def labelled(self, dataset: str) -> list[tuple[str, str]]:
        """(model, task) of every table that a dataset merges."""
        entry = self.config.datasets[dataset]
        chosen = list(self.models) if entry.models == "all" else entry.models
        return [(m, t) for t in entry.tasks for m in chosen if self.answers(m, t)]

    def family(self, task: str) -> str:
        imported = self.config.tasks.imported.get(task)
        return imported.family if imported else tasks.find(task).family

    def import_path(self, name: str) -> Path:
        """Where an imported file lies."""
        return _import_path(self.config.imports[name], self.data)

    def import_of(self, task: str) -> str | None:
        """The import a task's questions come from; None for a task made by a function."""
        imported = self.config.tasks.imported.get(task)
        return imported.source if imported else None

    @cached_property
    def assets(self) -> dict[str, Spec]:
        """What `prepare` resolves to a local folder: name → repository and revision."""
        models = {
            f"model-{name}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for name, m in self.models.items()
            if isinstance(m, HFModel)
        }
        judges = {
            f"judge-{name}": {"repository": j.checkpoint or j.backbone, "revision": j.revision, "remote_code": False}
            for name, j in self.config.judges.items()
            if isinstance(j, BertJudge)
        }
        return {**models, **judges}

    # --- specs ---

    def task_spec(self, task: str) -> Spec:
        imported = self.config.tasks.imported.get(task)
        if imported is None:
            return {"task": task}
        return {
            "task": task,
            "part": _dump(imported, without={"source", "family"}),
            "import": self._import(imported.source),
        }

    def candidates_spec(self, model: str, task: str) -> Spec:
        entry = self.models[model]
        settings = _dump(entry, without={"source"})
        if isinstance(entry, ImportedModel):
            settings["named"] = entry.named or model
            return {"model": model, "settings": settings, **self.task_spec(task)}
        return {
            "model": model,
            "task": task,
            "family": self.family(task),
            "settings": settings,
            "prompt_style": self.config.prompt_style,
        }

    def labels_spec(self, judge: str, model: str, task: str) -> Spec:
        entry = self.config.judges[judge]
        spec: Spec = {"judge": judge, "model": model, "task": task}
        match entry:
            case BertJudge():
                # What made the checkpoint is in the judge's own spec; here stands how its scores are read.
                return {**spec, "settings": _dump(entry, only={"kind", "threshold", "calibrated"})}
            case ImportedJudge():
                return {**spec, "settings": {"kind": entry.kind}, "source": self.candidates_spec(model, task)}
            case SimulatedJudge():
                return {**spec, "settings": _dump(entry), "source": self.candidates_spec(model, task)}
            case _:
                return {**spec, "settings": _dump(entry)}

    def dataset_spec(self, dataset: str) -> Spec:
        entry = self.config.datasets[dataset]
        return {
            "dataset": dataset,
            **_dump(entry, without={"allow_test_questions", "models"}),
            "tables": [[m, t] for m, t in sorted(self.labelled(dataset))],
        }

    def overlap_spec(self, dataset: str) -> Spec:
        """The check that no question of a test task is trained on."""
        allowed = self.config.datasets[dataset].allow_test_questions
        return {"dataset": dataset, "allow_test_questions": allowed, "test": sorted(self.config.tasks.test)}

    def judge_spec(self, judge: str) -> Spec:
        entry = self.config.judges[judge]
        assert isinstance(entry, BertJudge)
        return {"judge": judge, **_dump(entry, without={"threshold", "calibrated"})}

    def scores_spec(self, model: str, task: str) -> Spec:
        return {"model": model, "task": task, "judges": self.config.score_with}

    def standings_spec(self) -> Spec:
        return {
            "judges": self.config.score_with,
            "gold": self.config.gold,
            "trained": self.judges("bert"),
            "families": {task: self.family(task) for task in sorted(self.config.tasks.test)},
            "tables": [[m, t] for m, t in sorted(self.scored)],
        }

    def report_spec(self) -> Spec:
        kinds = {name: self.config.judges[name].kind for name in self.config.score_with}
        simulated = bool(self.generated_by("simulated"))
        return {**self.standings_spec(), "kinds": kinds, "simulated": simulated}

    def _import(self, name: str) -> Spec:
        return _dump(self.config.imports[name], without={"path"})


def make(raw: Mapping[str, Any]) -> Plan:
    """Check a configuration completely and resolve it.

    Raises:
        ConfigError: with one line per fault, all of them at once.
    """
    config = parse(raw)
    folder = config.data or os.environ.get("BERT_JUDGE_DATA")
    data = Path(folder).expanduser() if folder else None
    faults = [*_task_faults(config), *_path_faults(config, data)]
    if faults:
        # The rest of the checks reads the files, so it makes no sense without them.
        raise ConfigError(faults)
    models, faults = _expand(config, data)
    plan = Plan(config, data, models)
    faults += _use_faults(plan)
    if faults:
        raise ConfigError(faults)
    return plan


def _task_faults(config: Config) -> list[str]:
    try:
        tasks.load_files(config.task_files)
    except InputError as error:
        return [str(error)]
    known = {*tasks.names(), *config.tasks.imported}
    faults = [
        f"tasks.{part}: unknown task {name!r}; known are: {', '.join(sorted(known))}"
        for part, listed in (("train", config.tasks.train), ("test", config.tasks.test))
        for name in listed
        if name not in known
    ]
    return (
        faults
        + [
            f"tasks.imported.{name}: a built-in task has this name; choose another"
            for name in config.tasks.imported
            if name in tasks.names()
        ]
        + [
            f"tasks.imported.{name}.questions: {list(part.questions)} is empty; the first number must be the smaller"
            for name, part in config.tasks.imported.items()
            if part.questions[0] >= part.questions[1]
        ]
    )


def _path_faults(config: Config, data: Path | None) -> list[str]:
    faults = []
    for name, entry in config.imports.items():
        if not Path(entry.path).expanduser().is_absolute() and data is None:
            faults.append(
                f"imports.{name}.path: {entry.path!r} is relative, and no data folder is given; "
                "add --config data=FOLDER or set BERT_JUDGE_DATA"
            )
        elif not (path := _import_path(entry, data)).is_file():
            faults.append(f"imports.{name}.path: {path}: no such file; mend the path or the data folder")
    return faults


def _expand(config: Config, data: Path | None) -> tuple[dict[str, Model], list[str]]:
    """Replace keys with `*` by the models that they stand for."""
    models: dict[str, Model] = {k: m for k, m in config.models.items() if "*" not in k}
    faults: list[str] = []
    taken = {entry.named or key for key, entry in models.items() if isinstance(entry, ImportedModel)}
    for pattern, entry in config.models.items():
        if "*" not in pattern:
            continue
        if not isinstance(entry, ImportedModel) or entry.named is not None:
            faults.append(f"models.{pattern}: only an imported model without `named` may have a * in its key")
            continue
        in_file: dict[str, list[str]] = {}
        for source in entry.source:
            try:
                for named in files.distinct_models(config.imports[source], _import_path(config.imports[source], data)):
                    in_file.setdefault(named, []).append(source)
            except InputError as error:
                faults.append(f"imports.{source}: {error}")
        for named, sources in sorted(in_file.items()):
            if named in taken or not fnmatch.fnmatchcase(named, pattern):
                continue
            key = plain_name(named)
            if key in models:
                faults.append(f"models.{pattern}: {named!r} would be called {key!r}, which is taken; list it with `named:`")
            models[key] = ImportedModel(generator="imported", source=sources, named=named)
    return models, faults


def _use_faults(plan: Plan) -> list[str]:
    """Parts of a configuration that are each right but do not fit together."""
    config, faults = plan.config, []
    for name, dataset in config.datasets.items():
        chosen = dataset.models if dataset.models != "all" else []
        faults += [
            f"datasets.{name}.models: {model!r} is not defined under models; there are: {', '.join(plan.models)}"
            for model in chosen
            if model not in plan.models
        ]
        faults += [
            f"datasets.{name}.tasks: {task!r} is a test task; train on tasks of tasks.train"
            for task in dataset.tasks
            if task in config.tasks.test and not dataset.allow_test_questions
        ]
        if all(m in plan.models for m in chosen) and not plan.labelled(name):
            faults.append(f"datasets.{name}: none of its models has answers to its tasks")
        if isinstance(teacher := config.judges[dataset.teacher], BertJudge) and teacher.dataset == name:
            faults.append(f"datasets.{name}.teacher: {dataset.teacher!r} would be trained on its own labels")
    if not plan.scored:
        faults.append("tasks.test: no model has answers to any test task")
    if config.gold is not None and config.gold not in config.score_with:
        faults.append(f"gold: {config.gold!r} must be listed in score_with too")
    simulated = any(isinstance(judge, SimulatedJudge) for judge in config.judges.values())
    if simulated and not any(isinstance(model, SimulatedModel) for model in plan.models.values()):
        faults.append("judges: a simulated judge knows the truth about simulated models only, and there is none")
    return faults


def plain_name(text: str) -> str:
    """A model's name in a file as a name that can be a folder."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("-.") or "unnamed"


def _import_path(entry: Import, data: Path | None) -> Path:
    path = Path(entry.path).expanduser()
    return path if path.is_absolute() or data is None else data / path


def _dump(block: Any, without: set[str] | None = None, only: set[str] | None = None) -> Spec:
    return block.model_dump(mode="json", exclude=without, include=only)
