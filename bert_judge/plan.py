"""What a configuration asks for: the models, the tables, and for each table the spec that fully describes it.

A spec is plain JSON and holds all that gives a table its meaning, and nothing else: no paths, thread counts or batch sizes. Two
configurations with equal specs have equal tables, so the workflow reruns a job when its spec changes and only then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bert_judge import model_keys, plan_faults, selections, tasks
from bert_judge.config import (
    BertJudge,
    CascadeJudge,
    Config,
    ImportedJudge,
    ImportedModel,
    LLMJudge,
    LocalModel,
    Model,
    SimulatedJudge,
    SimulatedModel,
    TaskSource,
    parse,
)
from bert_judge.config import files as config_files
from bert_judge.errors import ConfigError
from bert_judge.tasks.sources import published

# Raised when the meaning of a stage's output changes, so that old outputs are made anew.
STAGE_VERSIONS = {
    "prepared": 1,
    "task": 1,
    "candidates": 2,
    "labels": 2,
    "dataset": 2,
    "overlap": 1,
    "judge": 2,
    "cascade": 1,
    "scores": 1,
    "standings": 2,
    "audit": 1,
    "attacks": 1,
    "report": 1,
}

# The model whose answers are attacks on judges. No model of a configuration can have this name; its tables lie beside the others',
# so every rule that labels answers labels these.
ATTACKS = "_attacks"

# How a trained encoder's scores are read; the other keys of its block say how it is made.
READING = {"kind", "threshold", "calibrated", "backend", "precision"}

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

    def cascade(self, name: str) -> CascadeJudge:
        entry = self.config.judges[name]
        assert isinstance(entry, CascadeJudge)
        return entry

    def members(self, cascade: str, model: str, task: str) -> list[tuple[str, str]]:
        """(judge, model or selection) of the verdicts that a cascade's verdicts on a model's answers are made of.

        A judge whose verdicts on all of these answers are asked for anyway is not asked again about those that are left to it.
        """
        first, *others = self.cascade(cascade).judges
        asked = self.config.score_with if (model, task) in self.scored else []
        left = {judge: model if judge in asked else selections.Left(model, cascade, judge).name for judge in others}
        return [(first, model), *left.items()]

    def learners(self, cascade: str) -> list[str]:
        """The judges of a cascade whose verdicts on the validation rows are needed: all but the teacher, whose labels they hold."""
        entry = self.cascade(cascade)
        return [judge for judge in entry.judges if judge != self.config.datasets[entry.dataset].teacher]

    @property
    def answering(self) -> list[str]:
        """Models, and what attacks judges in a model's place."""
        return [*self.models, *([ATTACKS] if self.config.attacks else [])]

    @cached_property
    def selections(self) -> list[str]:
        """Names of all tables of answers that are no model's."""
        cascades = self.judges("cascade")
        parts = [(name, judge) for name in cascades for judge in self.cascade(name).judges[1:]]
        left = [selections.Left(model, *part).name for part in parts for model in self.answering]
        held_out = {selections.HeldOut(self.cascade(cascade).dataset).name for cascade in cascades}
        return [*left, *sorted(held_out)]

    def generated_by(self, generator: str) -> list[str]:
        """Names of the models of a generator."""
        return [name for name, model in self.models.items() if model.generator == generator]

    def answers(self, model: str, task: str) -> bool:
        """Whether a model has answers to a task: an imported one only to tasks of its own files."""
        if model == ATTACKS:
            return task in self.attacked
        entry = self.models[model]
        if not isinstance(entry, ImportedModel):
            return True
        imported = self.config.tasks.imported.get(task)
        return imported is not None and imported.source in entry.source

    @cached_property
    def scored(self) -> list[tuple[str, str]]:
        """(model, task) of every score table, sorted, so that the order in the file does not matter."""
        return sorted((m, t) for t in self.config.tasks.test for m in self.models if self.answers(m, t))

    @property
    def attacked(self) -> list[str]:
        """Test tasks whose questions the attacks are made of."""
        attacks = self.config.attacks
        if attacks is None:
            return []
        return sorted(self.config.tasks.test if attacks.tasks == "all" else attacks.tasks)

    def labelled(self, dataset: str) -> list[tuple[str, str]]:
        """(model, task) of every table that a dataset merges, sorted; paths are listed in this order too."""
        entry = self.config.datasets[dataset]
        chosen = list(self.models) if entry.models == "all" else entry.models
        return sorted((m, t) for t in entry.tasks for m in chosen if self.answers(m, t))

    def family(self, task: str) -> str:
        entry = self.config.tasks.imported.get(task) or self.source_of(task)
        return entry.family if entry else tasks.find(task).family

    def source_of(self, task: str) -> TaskSource | None:
        """The data set that a task's questions come from; None for a task of a function or an imported file."""
        if task in self.config.tasks.imported:
            return None
        return self.config.tasks.sources.get(task) or published().get(task)

    def source_path(self, task: str) -> Path | None:
        """The file of a task's source; None when it has none, or lies on the hub."""
        source = self.source_of(task)
        return plan_faults.from_data(source.path, self.data) if source and source.path else None

    def import_path(self, name: str) -> Path:
        """Where an imported file lies."""
        return plan_faults.import_path(self.config.imports[name], self.data)

    def source_file(self, task: str) -> Path | None:
        """The file that a task's questions come from: an imported file, a data set's, a user's task file, or none."""
        if imported := self.import_of(task):
            return self.import_path(imported)
        return self.source_path(task) or tasks.file_of(task)

    def import_of(self, task: str) -> str | None:
        """The import a task's questions come from; None for a task made by a function."""
        imported = self.config.tasks.imported.get(task)
        return imported.source if imported else None

    def verdict_import(self, judge: str, task: str) -> str | None:
        """The import that holds an imported judge's verdicts on a task; None: there is none, or no telling which.

        The task's own file when the judge reads it, else the one file of the judge that no task is made of.
        """
        entry = self.config.judges[judge]
        assert isinstance(entry, ImportedJudge)
        own = self.import_of(task)
        if own in entry.source:
            return own
        asked = {part.source for part in self.config.tasks.imported.values()}
        verdicts_only = [name for name in entry.source if name not in asked]
        return verdicts_only[0] if len(verdicts_only) == 1 else None

    @cached_property
    def assets(self) -> dict[str, Spec]:
        """What `prepare` resolves to a local folder: name → repository and revision."""
        models = {
            f"model-{name}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for name, m in self.models.items()
            if isinstance(m, LocalModel)
        }
        judges = {
            f"judge-{name}": {"repository": j.checkpoint or j.backbone, "revision": j.revision, "remote_code": False}
            for name, j in self.config.judges.items()
            if isinstance(j, BertJudge)
        }
        judges |= {
            f"judge-{name}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for name, j in self.config.judges.items()
            if isinstance(j, LLMJudge) and isinstance(m := j.model, LocalModel)
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

    # --- specs ---

    def task_spec(self, task: str) -> Spec:
        imported = self.config.tasks.imported.get(task)
        if imported is None:
            spec: Spec = {"task": task}
            if source := self.source_of(task):
                spec["source"] = _dump(source, without={"path"})
            if limit := self.config.tasks.limit.get(task):
                spec["limit"] = limit
            return spec
        return {
            "task": task,
            "part": _dump(imported, without={"source", "family"}),
            "import": self._import(imported.source),
        }

    def candidates_spec(self, model: str, task: str) -> Spec:
        if model == ATTACKS:
            return self.attacks_spec(task)
        entry = self.models[model]
        settings = _dump(entry, without={"source", *entry.run_time})
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
        """Of a judge's verdicts on the answers of a model, or on a selection of them."""
        if isinstance(selection := selections.parse(model), selections.Left):
            return {**self.labels_spec(judge, selection.model, task), "selection": model}
        entry = self.config.judges[judge]
        spec: Spec = {"judge": judge, "model": model, "task": task}
        match entry:
            case BertJudge():
                # What made the checkpoint is in the judge's own spec; here stands how its scores are read.
                return {**spec, "settings": _dump(entry, only=READING)}
            case LLMJudge():
                asked = _dump(entry.model, without={"attempts", *entry.model.run_time})
                return {**spec, "settings": {**_dump(entry, without={"model", *entry.run_time}), "model": asked}}
            case ImportedJudge():
                spec = {**spec, "settings": {"kind": entry.kind}, "source": self.candidates_spec(model, task)}
                verdicts = self.verdict_import(judge, task)
                # Verdicts in the rows of the answers need no import of their own.
                in_rows = verdicts == self.import_of(task) and isinstance(self.models[model], ImportedModel)
                return spec if in_rows or verdicts is None else {**spec, "verdicts": self._import(verdicts)}
            case SimulatedJudge():
                return {**spec, "settings": _dump(entry), "source": self.candidates_spec(model, task)}
            case CascadeJudge():
                # Where its judges are sure is in the cascade's own spec.
                return {**spec, "settings": _dump(entry, only={"kind", "judges"})}
            case _:
                return {**spec, "settings": _dump(entry)}

    def dataset_spec(self, dataset: str) -> Spec:
        entry = self.config.datasets[dataset]
        return {
            "dataset": dataset,
            **_dump(entry, without={"allow_test_questions", "models", "tasks"}),
            "tables": [[m, t] for m, t in self.labelled(dataset)],
        }

    def overlap_spec(self, dataset: str, task: str) -> Spec:
        """The check that no question of a test task is in a dataset."""
        allowed = self.config.datasets[dataset].allow_test_questions
        return {"dataset": dataset, "allow_test_questions": allowed, "test": [task]}

    def judge_spec(self, judge: str) -> Spec:
        entry = self.config.judges[judge]
        assert isinstance(entry, BertJudge)
        spec = {"judge": judge, **_dump(entry, without=(READING - {"kind"}) | entry.run_time)}
        return {**spec, "training": _dump(entry.training, without={*entry.training.run_time})}

    def cascade_spec(self, judge: str) -> Spec:
        """What a cascade is fitted to."""
        entry = self.cascade(judge)
        teacher = self.config.datasets[entry.dataset].teacher
        return {"judge": judge, "teacher": teacher, "learners": self.learners(judge), **_dump(entry, without={"kind"})}

    @property
    def measured_cascades(self) -> dict[str, list[str]]:
        """Cascade → its judges, for the cascades that are measured: those with a column beside gold's."""
        scored = [name for name in self.config.score_with if self.config.judges[name].kind == "cascade"]
        return {name: self.cascade(name).judges for name in scored} if self.config.gold else {}

    def cascades_spec(self) -> Spec:
        """What cascades are measured on."""
        return {**self.standings_spec(), "cascades": self.measured_cascades}

    def scores_spec(self, model: str, task: str) -> Spec:
        return {"model": model, "task": task, "judges": self.config.score_with}

    def standings_spec(self) -> Spec:
        return {
            "judges": self.config.score_with,
            "gold": self.config.gold,
            "trained": [name for name in self.config.score_with if isinstance(self.config.judges[name], BertJudge | CascadeJudge)],
            "families": {task: self.family(task) for task in sorted(self.config.tasks.test)},
            "styles": self.styles(),
            "cost": self.cost_spec(),
            "tables": [[m, t] for m, t in self.scored],
        }

    def cost_spec(self) -> Spec:
        """Whose tokens and times are counted, and what they cost."""
        judges = self.config.judges
        trained = {n: j.dataset for n in self.config.score_with if isinstance(j := judges[n], BertJudge) and j.dataset}
        taught: dict[str, list[list[str]]] = {}
        for name in sorted(set(trained.values())):
            taught.setdefault(self.config.datasets[name].teacher, []).extend([m, t] for m, t in self.labelled(name))
        trained_on = sorted({(m, t) for pairs in taught.values() for m, t in pairs})
        # Only what takes part: another judge in the configuration makes nothing stale.
        at_work = sorted({*self.config.score_with, *taught})
        prompted = {name: judge for name in at_work if isinstance(judge := judges[name], LLMJudge)}
        asked = {n: j.model for n, j in prompted.items() if isinstance(j.model, LocalModel)}
        models = {m: self.models[m] for m, _ in [*self.scored, *trained_on]}
        gpus = {n: getattr(m, "tensor_parallel_size", 1) for n, m in sorted(models.items()) if isinstance(m, LocalModel)}
        judging = {n: 1 for n in at_work if isinstance(judges[n], BertJudge)}
        judging |= {n: getattr(m, "tensor_parallel_size", 1) for n, m in asked.items()}
        return {
            "tables": [[m, t] for m, t in self.scored],
            "trained_on": [[m, t] for m, t in trained_on],
            "answered_in_batches": [name for name in sorted(models) if models[name].generator == "vllm"],
            "judges": self.config.score_with,
            "taught": taught,
            "trained": trained,
            "prompted": sorted(prompted),
            "prices": {name: _dump(judge.price) for name, judge in prompted.items() if judge.price},
            "assumed_price": _dump(self.config.assumed_price),
            "gpus": {"models": gpus, "judges": judging},
        }

    def styles(self) -> dict[str, str]:
        """How each scored model writes, where the configuration tells: of simulated ones the commonest style."""
        found: dict[str, str] = {}
        for model in sorted({model for model, _ in self.scored}):
            if isinstance(entry := self.models[model], SimulatedModel):
                weights = {entry.style: 1.0} if isinstance(entry.style, str) else entry.style
                found[model] = max(weights, key=lambda style: weights[style])
        return found

    def audit_spec(self) -> Spec:
        """Which answers people are asked about."""
        assert self.config.audit is not None
        drawn = _dump(self.config.audit, only={"judge", "size", "seed"})
        return {**drawn, "tables": [[m, t] for m, t in self.scored]}

    def corrected_spec(self) -> Spec:
        """What people's labels, or gold's on the drawn answers, make of the judges' accuracies."""
        assert self.config.audit is not None
        gold = self.config.gold if self.config.audit.labels_from == "gold" else None
        return {**self.audit_spec(), "judges": [name for name in self.config.score_with if name != gold], "labels_from": gold}

    @property
    def corrects(self) -> bool:
        """Whether there are labels to correct accuracies with."""
        audit = self.config.audit
        return audit is not None and (audit.labels is not None or audit.labels_from == "gold")

    def attacks_spec(self, task: str) -> Spec:
        """The answers that try to fool judges."""
        assert self.config.attacks is not None
        return {"task": task, **_dump(self.config.attacks, only={"rows", "seed"})}

    def attack_rates_spec(self) -> Spec:
        """How often judges are fooled."""
        assert self.config.attacks is not None
        return {"judges": self.config.attacks.judges, "tasks": self.attacked}

    def report_spec(self) -> Spec:
        kinds = {name: self.config.judges[name].kind for name in self.config.score_with}
        simulated = bool(self.generated_by("simulated"))
        spec = {**self.standings_spec(), "kinds": kinds, "simulated": simulated}
        if self.config.attacks:
            spec["attacks"] = self.attack_rates_spec()
        return {**spec, "audit": self.corrected_spec() if self.corrects else self.audit_spec()} if self.config.audit else spec

    def _import(self, name: str) -> Spec:
        return _dump(self.config.imports[name], without={"path"})


def make(raw: Mapping[str, Any], written: Iterable[str | Path] = ()) -> Plan:
    """Check a configuration completely and resolve it.

    Args:
        raw: what the configuration says.
        written: the files that it comes from; they are checked for what `raw` does not show, such as a key that is there twice.

    Raises:
        ConfigError: with one line per fault, all of them at once.
    """
    config, faults = None, config_files.faults(written)
    try:
        config = parse(raw)
    except ConfigError as error:
        faults += error.faults
    data = _data_folder(raw)
    path_faults = plan_faults.of_paths(raw, data)
    faults += [*plan_faults.of_tasks(raw), *path_faults, *plan_faults.of_folders(raw)]
    faults += plan_faults.of_fit(config) if config else []
    if config is None or path_faults:
        # The rest of the checks reads the files of a sound configuration.
        raise ConfigError(faults)
    in_files, file_faults = plan_faults.models_in_files(config, data)
    models, name_faults = model_keys.expand(config, in_files)
    plan = Plan(config, data, models)
    # Without the models of a file that cannot be read, how the rest fits together is anybody's guess.
    faults += [*file_faults, *name_faults, *([] if file_faults else plan_faults.of_use(plan, in_files))]
    if faults:
        raise ConfigError(faults)
    return plan


def _data_folder(raw: Mapping[str, Any]) -> Path | None:
    folder = raw.get("data") or os.environ.get("BERT_JUDGE_DATA")
    return Path(folder).expanduser() if isinstance(folder, str) else None


def _dump(block: Any, without: set[str] | None = None, only: set[str] | None = None) -> Spec:
    return block.model_dump(mode="json", exclude=without, include=only)
