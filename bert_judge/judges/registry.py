"""Registry of judge kinds: one folder of `bert_judge/judges/` per kind, each declares a `JudgeKind` in its `__init__.py`.

This module and the declarations import nothing heavy, so that a label job can look its kind up for free.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import bert_judge.judges
from bert_judge import text
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.outputs import canonical
from bert_judge.runtime.package_data import read_yaml

if TYPE_CHECKING:
    from bert_judge.config import Config, JudgeConfig, Model
    from bert_judge.config.models import MicroBatches

RESULTS = Path("results")
# Written last: a folder without it is not a trained judge.
JUDGE_FILE = "judge.json"
# Version of what the label stage does around every judge, such as removing reasoning; all labels and preferences depend on it.
STAGE_VERSION = 4
# Files of a dataset.
DATASET_FILES = ("train.parquet", "validation.parquet", "validation_weak.parquet", "summary.json")

Spec = dict[str, Any]
Settings = TypeVar("Settings", bound="MicroBatches")
# (judge, model or selection of answers, task).
LabelTable = tuple[str, str, str]
# Name of an input → its file, or several.
Inputs = dict[str, str | list[str]]


class RunPlan(Protocol):
    """The interface of the plan that kinds rely on; `plan.Plan` implements it."""

    @property
    def config(self) -> Config: ...
    @property
    def models(self) -> Mapping[str, Model]: ...
    @property
    def answer_sources(self) -> list[str]: ...
    @property
    def score_tables(self) -> list[tuple[str, str]]: ...
    def dataset_tables(self, dataset: str) -> list[tuple[str, str]]: ...
    def pair_files(self, pair_set: str) -> list[str]: ...
    def candidates_spec(self, model: str, task: str) -> Spec: ...
    def verdict_import(self, judge: str, task: str) -> str | None: ...
    def import_of(self, task: str) -> str | None: ...
    def import_path(self, name: str) -> Path: ...
    def import_spec(self, name: str) -> Spec: ...


@dataclass(frozen=True)
class Dependencies:
    """Judges whose verdicts a judge combines, and datasets and sets of pairs that it is trained or fitted on."""

    judges: Sequence[str] = ()
    datasets: Sequence[str] = ()
    pair_sets: Sequence[str] = ()


@dataclass(frozen=True)
class TrainingResources:
    """What a training job requests. Memory doubles with each retry, and so does the time of a job without a GPU.

    Attributes:
        gpus: 0 or 1; a job with a GPU resumes when it is retried.
        mem_mb, minutes: memory beside the dataset, and time.
        copies_of_backbone: how often the weights of the backbone are in memory.
    """

    gpus: int = 0
    mem_mb: int = 8000
    minutes: int = 60
    copies_of_backbone: int = 0


@dataclass(frozen=True)
class TrainingContext:
    """The arguments of `JudgeKind.train` and `JudgeKind.evaluate`.

    Attributes:
        spec: `JudgeKind.training_spec`.
        inputs: the files of `JudgeKind.training_inputs`.
        folder: folder of the judge, which exists; gets its files, metrics.json, README.md and, last, judge.json.
        work_folder: keeps checkpoints until the judge is complete.
        block: the judge's block of the configuration, with the keys that the spec leaves out.
        check_device: raises `InputError` when a cluster job did not get its GPUs.
    """

    spec: Mapping[str, Any]
    inputs: Mapping[str, Any]
    folder: Path
    work_folder: Path
    block: Mapping[str, Any] = field(default_factory=dict)
    check_device: Callable[[], None] = lambda: None

    def settings(self, model: type[Settings]) -> Settings:
        """Return the training settings of the spec, with those of the block that do not change results (micro-batches)."""
        settings = self.block.get("training", {})
        return model.model_validate({**self.spec["training"], **{key: settings[key] for key in model.run_time & settings.keys()}})

    def checkpoints(self, *content: str) -> Path:
        """Return the folder of the checkpoints; those of another spec, backbone or other rows must not be resumed from."""
        # Imported lazily: it loads pyarrow.
        from bert_judge.runtime.resume import content_key

        return self.work_folder / content_key(canonical(self.spec), *content)


@dataclass(frozen=True)
class LoadContext:
    """The arguments of `JudgeKind.load`.

    Attributes:
        spec: `Plan.labels_spec`, or `Plan.preferences_spec` of a pairwise judge.
        inputs: the files of `JudgeKind.inputs` and, in a run, of `JudgeKind.label_inputs`.
        block: the judge's block of the configuration, with the keys that the spec leaves out: addresses, concurrency.
        store: caches the completions of a language model, so that nothing is requested twice; None: no cache.
        check_device: raises `InputError` when a cluster job did not get its GPUs.
    """

    spec: Mapping[str, Any]
    inputs: Mapping[str, Any]
    block: Mapping[str, Any]
    store: Path | None = None
    check_device: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        return str(self.spec["judge"])

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.spec["settings"])


@dataclass(frozen=True)
class ScoreDescription:
    """What a person should know of a judge's scores.

    Attributes:
        threshold: lowest score of a correct answer; None where scores are 0 and 1, or nothing is known.
        is_probability: the score is the calibrated probability that the answer is correct.
        suits: the kind of answers that the judge is for, as a heading; None: all.
    """

    threshold: float | None = None
    is_probability: bool = False
    suits: str | None = None


class JudgeKind:
    """A kind of judge. The plan, the label stage, `score`, `predict`, `attack` and `serve` use a judge through its kind only.

    Attributes:
        name: value of the configuration's `kind` key.
        config: model of a block of the configuration of this kind.
        stage_version: increased when the labels of an unchanged spec change, so that old tables become stale.
        reads_text: its verdicts depend on the rules of `text`, not only on `text.visible_text`, which the label stage itself uses.
        prompt_files: YAML files of its prompts, relative to the folder of the kind. Their content is part of the spec.
        compares_pairs: it compares two answers: `load` returns a `judges.protocol.PairJudge`.
        combines_labels: its labels are merged from label tables of other judges by `combine_labels`; it has no `load`.
        looks_up_labels: it looks up existing verdicts on the answers of a run and cannot judge other answers.
        is_trained: it learns from labels.
        training_version: increased when the same training spec gives another judge, so that old judges become stale.
        keeps_progress: a killed label job resumes.
        counts_training: the cost of its training is part of the run's cost.
        mem_mb, minutes: resources that a label job requests; memory doubles with each retry.
    """

    name: str
    config: type[JudgeConfig]
    stage_version = 1
    reads_text = False
    prompt_files: Sequence[str] = ()
    compares_pairs = False
    combines_labels = False
    looks_up_labels = False
    is_trained = False
    training_version = 1
    keeps_progress = False
    counts_training = False
    mem_mb = 1000
    minutes = 20

    # Specification

    def settings(self, block: Any) -> Spec:
        """Return the settings on which the labels depend; without training settings, which are in the spec of the training."""
        settings: Spec = block.model_dump(mode="json", exclude=set(block.run_time))
        return settings

    def needs_references(self, settings: Spec) -> bool:
        """Return whether the judge compares answers with references; others grade an answer by itself."""
        return not self.compares_pairs

    def judges_row_by_row(self, settings: Spec) -> bool:
        """Return whether a row may take seconds, and rows together are no faster: a server then judges them one by one."""
        return False

    def extra_spec(self, plan: RunPlan, judge: str, model: str, task: str) -> Spec:
        """Return further parts of the spec of a label table."""
        return {}

    def prompts(self, block: Any) -> str | None:
        """Return a hash of the built-in prompts that decide the verdicts; None: there are none."""
        folder = Path(inspect.getfile(type(self))).parent
        return hash_data(*(folder / name for name in self.prompt_files)) if self.prompt_files else None

    def versions(self, block: Any) -> dict[str, int]:
        """Return the versions of the code that decides the verdicts."""
        versions = {"stage": STAGE_VERSION, "kind": self.stage_version}
        return {**versions, "text": text.TEXT_VERSION} if self.reads_text else versions

    def verdict_spec(self, block: Any) -> Spec:
        """Return the part of the spec of labels and preferences that depends on neither answers nor files."""
        return {"settings": self.settings(block), "prompts": self.prompts(block), "versions": self.versions(block)}

    def content_spec(self, block: Any) -> Spec:
        """Return hashes of local files that the configuration names and that decide the verdicts, such as those of a checkpoint."""
        return {}

    def describe_score(self, settings: Spec) -> ScoreDescription:
        """Describe the score for a person who compares judges on the web page."""
        return ScoreDescription(threshold=settings.get("threshold"))

    # Dependencies

    def depends_on(self, block: Any) -> Dependencies:
        """Return the entries of the configuration that the judge depends on."""
        return Dependencies()

    def source_tables(self, plan: RunPlan, judge: str, model: str, task: str) -> list[LabelTable]:
        """Return the label tables that a label table is combined from."""
        return []

    def fit_tables(self, plan: RunPlan, judge: str) -> list[LabelTable]:
        """Return the label tables that the judge is fitted on, in addition to those of its datasets."""
        return []

    def selections(self, plan: RunPlan, judge: str) -> list[str]:
        """Return the names of the selections of answers that the judge defines; see `tables.selections`."""
        return []

    def assets(self, judge: str, block: Any) -> dict[str, Spec]:
        """Return the assets that `prepare` downloads: name → repository and revision."""
        return {}

    def inputs(self, judge: str, block: Any, results: Path = RESULTS) -> Inputs:
        """Return the files that `load` reads for any answers: checkpoints, manifests."""
        return {}

    def features(self, block: Any) -> dict[str, Spec]:
        """Return name → spec of the tables of hidden states that the judge reads."""
        return {}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        """Return the input files of the job that labels a table, without the answers themselves.

        Among them is the check that a trained judge has not seen the questions of a test task.
        """
        block = plan.config.judges[judge]
        inputs = self.inputs(judge, block)
        if self.combines_labels:
            return {**inputs, "labels": [label_path(table) for table in self.source_tables(plan, judge, model, task)]}
        for dataset in self.depends_on(block).datasets if task in plan.config.tasks.test else ():
            inputs["overlap"] = str(RESULTS / "datasets" / dataset / "overlap" / f"{task}.json")
        return inputs

    # Training

    def trains(self, block: Any) -> bool:
        """Return whether a run trains the judge of a block, as opposed to taking a finished one."""
        dependencies = self.depends_on(block)
        return self.is_trained and bool(dependencies.datasets or dependencies.pair_sets)

    def training_spec(self, plan: RunPlan, judge: str) -> Spec:
        """Return the spec of the training: by default all settings of the block that do not change inference only."""
        block: Any = plan.config.judges[judge]
        spec: Spec = {"judge": judge, **block.model_dump(mode="json", exclude={*block.inference_keys, *block.run_time})}
        if "training" in spec:
            spec["training"] = block.training.model_dump(mode="json", exclude=set(block.training.run_time))
        return {**spec, "text_version": text.TEXT_VERSION} if self.reads_text else spec

    def training_inputs(self, plan: RunPlan, judge: str) -> Inputs:
        """Return the input files of the training: by default those of its dataset, pairs, and the manifest of its backbone."""
        block, inputs = plan.config.judges[judge], Inputs()
        dependencies = self.depends_on(block)
        for dataset in dependencies.datasets:
            inputs |= {Path(name).stem: str(RESULTS / "datasets" / dataset / name) for name in DATASET_FILES}
        if dependencies.pair_sets:
            inputs["pairs"] = [path for name in sorted(dependencies.pair_sets) for path in plan.pair_files(name)]
        for asset in self.assets(judge, block):
            inputs["backbone"] = str(RESULTS / "prepared" / f"{asset}.json")
        return inputs

    def training_resources(self, block: Any) -> TrainingResources:
        return TrainingResources()

    def train(self, context: TrainingContext) -> None:
        """Train the judge and write it into `context.folder`, judge.json last. An earlier judge stays if the training fails.

        Raises:
            InputError: a file is missing or broken, or there are too few labels.
        """
        raise NotImplementedError

    def evaluate(self, context: TrainingContext) -> None:
        """Write metrics.json and the model card README.md of a judge that was just trained, unless `train` has done so."""

    # Jobs

    def label_rule(self, block: Any) -> str:
        """Return the rule of `rules/labels.smk` that labels tables of answers."""
        return "combine_labels" if self.combines_labels else "label"

    def gpus(self, block: Any) -> int:
        """Return the GPUs that a label job holds."""
        return 0

    # Checks

    def checks(self, config: Config, judge: str, block: Any) -> list[str]:
        """Return the errors of a block that is valid by itself, one line each; no file is read."""
        return []

    def table_problem(self, plan: RunPlan, judge: str, model: str, task: str) -> str | None:
        """Return why the judge cannot label the answers of a model to a task."""
        return None

    def member_problem(self, judge: str) -> str | None:
        """Return why the judge cannot be a member of a cascade."""
        return None

    def attack_problem(self, block: Any) -> str | None:
        """Return why the judge cannot label attacks, which are no model's answers."""
        if self.looks_up_labels:
            return f"is of kind {self.name} and has no verdicts on attacks; choose another judge"
        return None

    def standalone_problem(self, block: Any) -> str | None:
        """Return why the judge cannot label answers that are not part of a run."""
        if self.looks_up_labels or self.combines_labels:
            return f"is of kind {self.name}, which only judges the answers of a run; choose another judge"
        return None

    # Execution

    def recognizes(self, folder: Path) -> bool:
        """Return whether a folder holds a trained judge of this kind."""
        return read_card(folder).get("kind") == self.name

    def folder_inputs(self, folder: Path) -> Inputs:
        """Return the inputs of `load` for a folder that `recognizes` accepts."""
        return {"checkpoint": str(folder / JUDGE_FILE)}

    def folder_block(self, folder: Path) -> dict[str, Any]:
        """Return the block of a configuration for the judge in a folder, with default settings."""
        return {"kind": self.name, "checkpoint": str(folder)}

    def revisions(self, context: LoadContext) -> dict[str, str] | None:
        """Return the revisions of the judge if they are known without loading it."""
        return None

    def load(self, context: LoadContext) -> Any:
        """Load the judge: a `judges.protocol.Judge`, or a `PairJudge` if `compares_pairs`.

        Raises:
            InputError: a file is missing or broken.
        """
        raise NotImplementedError

    def combine_labels(self, context: LoadContext, output: Path) -> None:
        """Write a label table from those of other judges, if `combines_labels`."""
        raise NotImplementedError


# Kinds that were registered from outside the package.
_REGISTERED: dict[str, JudgeKind] = {}


def register(kind: JudgeKind) -> None:
    """Add a kind, or replace the one with its name."""
    _REGISTERED[kind.name] = kind


def unregister(name: str) -> None:
    """Remove a kind that `register` added."""
    del _REGISTERED[name]


def find(name: str) -> JudgeKind:
    """Return the kind with this name. Raises InputError: no kind has this name."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _built_in_names():
        raise InputError(f"unknown kind of judge {name!r}; choose one of: {', '.join(names())}")
    kind: JudgeKind = importlib.import_module(f"bert_judge.judges.{name}").KIND
    return kind


def names() -> list[str]:
    """Return the names of all kinds, built-in ones first."""
    return list(dict.fromkeys([*_built_in_names(), *_REGISTERED]))


def kinds() -> list[JudgeKind]:
    return [find(name) for name in names()]


def read_card(folder: Path) -> dict[str, Any]:
    """Return the judge.json of a folder; empty if it cannot be read, which loading the judge reports."""
    try:
        card = json.loads((folder / JUDGE_FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return card if isinstance(card, dict) else {}


def is_trained_judge(folder: Path) -> bool:
    """Return whether a folder of a run holds a judge that was trained to the end: its description is written last."""
    return (folder / JUDGE_FILE).is_file()


def judge_file(judge: str, results: Path = RESULTS) -> str:
    """Return the path of the description of a judge that a run trains."""
    return str(results / "judges" / judge / JUDGE_FILE)


def train_judge(context: TrainingContext) -> None:
    """Train and evaluate a judge, of any kind that learns from labels."""
    kind = find(context.spec["kind"])
    context.folder.mkdir(parents=True, exist_ok=True)
    kind.train(context)
    kind.evaluate(context)
    shutil.rmtree(context.work_folder, ignore_errors=True)


def label_path(table: LabelTable) -> str:
    return str(RESULTS / "labels" / Path(*table)) + ".parquet"


@cache
def hash_data(*paths: Path) -> str:
    """Return a hash of what YAML files say, whatever their comments and layout."""
    contents = [read_yaml(path) for path in paths]
    return hashlib.sha256(canonical({"contents": contents}).encode()).hexdigest()[:16]


@cache
def _built_in_names() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(bert_judge.judges.__path__) if module.ispkg)
