"""The names of a configuration: which models, tasks, judges and tables there are, and which belong together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bert_judge import tasks
from bert_judge.config import Config, Import, ImportedModel, LocalModel, Model, SimulatedModel, StudentModel, TaskSource
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.cascade.config import CascadeJudgeConfig
from bert_judge.judges.imported.config import ImportedJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.judges.pairwise.config import PairwiseJudgeConfig
from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.probe.config import ProbeJudgeConfig
from bert_judge.plan import selections
from bert_judge.runtime.resume import content_key
from bert_judge.tasks.sources import published_sources

Spec = dict[str, Any]

# The model whose answers are attacks on judges. No model of a configuration can have this name; its tables lie beside the others',
# so every rule that labels answers labels these.
ATTACKS = "_attacks"


@dataclass(frozen=True)
class Names:
    """A checked configuration with its names resolved.

    Attributes:
        config: as written.
        data: folder of the imported files.
        models: every model by its name; keys with `*` are replaced by the models they stand for.
    """

    config: Config
    data: Path | None
    models: Mapping[str, Model]

    @property
    def tasks(self) -> list[str]:
        return [*self.config.tasks.train, *self.config.tasks.test]

    def judges(self, kind: str) -> list[str]:
        """Names of the judges of a kind."""
        return [name for name, judge in self.config.judges.items() if judge.kind == kind]

    def cascade(self, name: str) -> CascadeJudgeConfig:
        entry = self.config.judges[name]
        assert isinstance(entry, CascadeJudgeConfig)
        return entry

    def adapted(self, name: str) -> PriorShiftJudgeConfig:
        entry = self.config.judges[name]
        assert isinstance(entry, PriorShiftJudgeConfig)
        return entry

    def members(self, cascade: str, model: str, task: str) -> list[tuple[str, str]]:
        """(judge, model or selection) of the verdicts that a cascade's verdicts on a model's answers are made of.

        A judge whose verdicts on all of these answers are asked for anyway is not asked again about those that are left to it.
        """
        first, *others = self.cascade(cascade).judges
        asked = self.config.scorers if (model, task) in self.scored else []
        left = {judge: model if judge in asked else selections.Left(model, cascade, judge).name for judge in others}
        return [(first, model), *left.items()]

    def learners(self, cascade: str) -> list[str]:
        """The judges of a cascade whose verdicts on the validation rows are needed: all but the teacher, whose labels they hold."""
        entry = self.cascade(cascade)
        return [judge for judge in entry.judges if judge != self.config.datasets[entry.dataset].teacher]

    @property
    def unschooled(self) -> list[str]:
        """Models that are no students: those from whose answers judges and students may learn."""
        return [name for name, model in self.models.items() if not isinstance(model, StudentModel)]

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
        chosen = self.unschooled if entry.models == "all" else entry.models
        return sorted((m, t) for t in entry.tasks for m in chosen if self.answers(m, t))

    def undecided(self, dataset: str) -> list[tuple[str, str]]:
        """(model, task) of the tables in which a dataset's weak teacher labels what the teacher leaves open, sorted."""
        weak_teacher = self.config.datasets[dataset].weak_teacher
        return [(m, t) for m, t in self.labelled(dataset) if weak_teacher and t in weak_teacher.tasks]

    def taught(self, dataset: str) -> list[tuple[str, str, str]]:
        """(judge, model, task) of every table of verdicts that a dataset learns from."""
        entry = self.config.datasets[dataset]
        labels = [(entry.teacher, *pair) for pair in self.labelled(dataset)]
        return labels + [(entry.weak_teacher.teacher, *pair) for pair in self.undecided(dataset) if entry.weak_teacher]

    def family(self, task: str) -> str:
        entry = self.config.tasks.imported.get(task) or self.source_of(task)
        return entry.family if entry else tasks.find(task).family

    def source_of(self, task: str) -> TaskSource | None:
        """The data set that a task's questions come from; None for a task of a function or an imported file."""
        if task in self.config.tasks.imported:
            return None
        return self.config.tasks.sources.get(task) or published_sources().get(task)

    def source_path(self, task: str) -> Path | None:
        """The file of a task's source; None when it has none, or lies on the hub."""
        source = self.source_of(task)
        return from_data(source.path, self.data) if source and source.path else None

    def import_path(self, name: str) -> Path:
        """Where an imported file lies."""
        return import_path(self.config.imports[name], self.data)

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
        assert isinstance(entry, ImportedJudgeConfig)
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
            if isinstance(m, LocalModel) and not isinstance(m, StudentModel)
        }
        # The students of one key start from one model.
        models |= {
            f"base-{key}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for key, m in self.config.models.items()
            if isinstance(m, StudentModel)
        }
        judges = {
            f"judge-{name}": {"repository": j.checkpoint or j.backbone, "revision": j.revision, "remote_code": False}
            for name, j in self.config.judges.items()
            if isinstance(j, BertJudgeConfig) or (isinstance(j, PairwiseJudgeConfig) and not j.model and (j.pairs or j.checkpoint))
        }
        judges |= {
            f"judge-{name}": {"repository": m.model, "revision": m.revision, "remote_code": m.trust_remote_code}
            for name, j in self.config.judges.items()
            if isinstance(j, LLMJudgeConfig | PairwiseJudgeConfig) and isinstance(m := j.model, LocalModel)
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
        return {**models, **judges, **self.backbones, **data_sets}

    @cached_property
    def backbones(self) -> dict[str, Spec]:
        """The frozen models whose hidden states probes read, as assets."""
        return {
            backbone_asset(judge.backbone, judge.revision): {
                "repository": judge.backbone,
                "revision": judge.revision,
                "remote_code": False,
            }
            for judge in self.config.judges.values()
            if isinstance(judge, ProbeJudgeConfig)
        }

    @property
    def measured_cascades(self) -> dict[str, list[str]]:
        """Cascade → its judges, for the cascades that are measured: those with a column beside gold's."""
        scored = [name for name in self.config.scorers if self.config.judges[name].kind == "cascade"]
        return {name: self.cascade(name).judges for name in scored} if self.config.gold else {}

    @property
    def corrects(self) -> bool:
        """Whether there are labels to correct accuracies with."""
        audit = self.config.audit
        return audit is not None and (audit.labels is not None or audit.labels_from == "gold")

    def styles(self) -> dict[str, str]:
        """How each scored model writes, where the configuration tells: of simulated ones the commonest style."""
        found: dict[str, str] = {}
        for model in sorted({model for model, _ in self.scored}):
            if isinstance(entry := self.models[model], SimulatedModel):
                weights = {entry.style: 1.0} if isinstance(entry.style, str) else entry.style
                found[model] = max(weights, key=lambda style: weights[style])
        return found


def backbone_asset(backbone: str, revision: str | None) -> str:
    """Name of the asset of a frozen model: equal models, equal names."""
    return f"backbone-{word_of(backbone)}-{content_key(backbone, revision)[:8]}"


def word_of(repository: str) -> str:
    """The last part of a model's name as a plain word."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", repository.rstrip("/").rpartition("/")[2])[:40].strip("-.") or "model"


def import_path(entry: Import, data: Path | None) -> Path:
    """Where an imported file lies: relative paths start in the data folder."""
    return from_data(entry.path, data)


def from_data(told: str, data: Path | None) -> Path:
    """A path of the configuration: a relative one starts in the data folder, when there is one."""
    path = Path(told).expanduser()
    return path if path.is_absolute() or data is None else data / path
