"""The judge kind `probe`."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator

from bert_judge import tables
from bert_judge.config.base import JudgeConfig, Name, ProbeAspect, Share, as_list, roscoe
from bert_judge.judges import registry
from bert_judge.runtime.resume import content_key

if TYPE_CHECKING:
    from bert_judge.config import Config

Pooling = Literal["mean", "last", "min", "max", "concat"]
Classifier = Literal["logistic", "linear_svm"]
PoolingList = Annotated[list[Pooling], Field(min_length=1)]
Poolings = Annotated[PoolingList, BeforeValidator(as_list, json_schema_input_type=Pooling | PoolingList)]
ClassifierList = Annotated[list[Classifier], Field(min_length=1)]
Classifiers = Annotated[ClassifierList, BeforeValidator(as_list, json_schema_input_type=Classifier | ClassifierList)]

# The stored poolings; `concat` concatenates all four on reading.
BASIC_POOLINGS = ("mean", "last", "min", "max")
PROMPT = "Question: {question}\nAnswer: {candidate}\nHow good is this answer?"
FIELDS = ("question", "candidate", "aspect")


class ProbeJudgeConfig(JudgeConfig):
    """Classifiers on the hidden states of a frozen model, without references; each answer is read once for all aspects."""

    # The settings that determine a table of hidden states; probes with equal values share the table.
    reads: ClassVar[frozenset[str]] = frozenset(
        {"backbone", "revision", "prompt", "pooling", "max_length", "precision", "storage_dtype"}
    )

    kind: Literal["probe"]
    dataset: str
    """dataset to train on, whose teacher labels the aspects; its validation rows are the test split"""
    aspects: Annotated[dict[Name, ProbeAspect], Field(min_length=1)] | None = None
    """name → aspect; default: the five of ROSCOE. `correctness` is the verdict if the teacher has no such aspect"""
    backbone: str = "minilm"
    """pretrained encoder or language model: `minilm` (offline), a hub id or a local folder"""
    revision: str | None = None
    """commit of the hub repository of the backbone"""
    prompt: str = PROMPT
    """input of the backbone; with {aspect}, the answers are read once per aspect"""
    pooling: Poolings = list(get_args(Pooling))
    """how the tokens of a layer are pooled; `concat`: mean, last, min and max, concatenated"""
    max_length: int = Field(512, ge=16)
    """maximum prompt length in tokens, capped by the backbone's context window"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """data type of the backbone"""
    storage_dtype: Literal["float32", "float16"] = "float32"
    """data type of the stored hidden states; float16 halves the tables"""
    classifiers: Classifiers = list(get_args(Classifier))
    """classifiers in the grid search"""
    pca_components: int = Field(50, ge=1)
    """number of principal components"""
    max_concat_layers: int = Field(5, ge=1, le=5)
    """maximum number of concatenated (layer, pooling) pairs, added by forward selection"""
    folds: int = Field(5, ge=2)
    """folds of the cross-validation, grouped by question"""
    seed: int = 0
    """seed of the folds and classifiers"""
    threshold: Share = 0.5
    """lowest score that counts as correct; the score is the mean of the aspects, each scaled to [0, 1]"""

    @property
    def aspect_configs(self) -> dict[str, ProbeAspect]:
        """Return the aspects by name; ROSCOE's if none are configured."""
        return roscoe() if self.aspects is None else self.aspects

    @property
    def stored_poolings(self) -> list[str]:
        """Return the poolings to store."""
        return [name for name in BASIC_POOLINGS if name in self.pooling or "concat" in self.pooling]

    @field_validator("prompt")
    @classmethod
    def _known_fields(cls, prompt: str) -> str:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(prompt) if name is not None]
        except ValueError as error:
            raise ValueError(f"prompt: {error}; write {{{{ and }}}} for braces") from error
        for name in fields:
            if name not in FIELDS:
                raise ValueError(f"prompt: unknown field {{{name}}}; available: {{question}}, {{candidate}} and {{aspect}}")
            if fields.count(name) > 1:
                raise ValueError(f"prompt: {{{name}}} occurs twice; remove one")
        if "candidate" not in fields:
            raise ValueError("prompt: {candidate} is missing; without it all answers have the same input")
        return prompt


class ProbeKind(registry.JudgeKind):
    name = "probe"
    config = ProbeJudgeConfig
    is_trained = True
    training_version = 4
    mem_mb, minutes = 4000, 60

    def settings(self, block: ProbeJudgeConfig) -> registry.Spec:
        return block.model_dump(mode="json", include={"kind", "threshold"})

    def needs_references(self, settings: registry.Spec) -> bool:
        return False

    def depends_on(self, block: ProbeJudgeConfig) -> registry.Dependencies:
        return registry.Dependencies(datasets=[block.dataset])

    def assets(self, judge: str, block: ProbeJudgeConfig) -> dict[str, registry.Spec]:
        asset = backbone_asset(block.backbone, block.revision)
        return {asset: {"repository": block.backbone, "revision": block.revision, "remote_code": False}}

    def inputs(self, judge: str, block: ProbeJudgeConfig, results: Path = registry.RESULTS) -> registry.Inputs:
        return {"checkpoint": registry.judge_file(judge, results)}

    def features(self, block: ProbeJudgeConfig) -> dict[str, registry.Spec]:
        return dict(aspect_features(block).values())

    def label_inputs(self, plan: registry.RunPlan, judge: str, model: str, task: str) -> registry.Inputs:
        block: Any = plan.config.judges[judge]
        features = [features_path(name, model, task) for name in self.features(block)]
        return {**super().label_inputs(plan, judge, model, task), "features": features}

    def label_rule(self, block: ProbeJudgeConfig) -> str:
        return "label_from_features"

    def checks(self, config: Config, judge: str, block: ProbeJudgeConfig) -> list[str]:
        kinds = [augmentation.kind for augmentation in config.datasets[block.dataset].augment]
        error = f"judges.{judge}.dataset: {block.dataset!r} is augmented ({', '.join(kinds)}); use a dataset without `augment`"
        return [error] if kinds else []

    def training_spec(self, plan: registry.RunPlan, judge: str) -> registry.Spec:
        block: Any = plan.config.judges[judge]
        # The specs of the hidden states have the settings that these are read with.
        spec = block.model_dump(mode="json", exclude={"aspects", "threshold", *block.reads} - {"pooling"})
        features = aspect_features(block)
        aspects = {
            name: {**entry.model_dump(mode="json", exclude={"description"}), "features": features[name][0]}
            for name, entry in block.aspect_configs.items()
        }
        tables = [[model, task] for model, task in plan.dataset_tables(block.dataset)]
        return {"judge": judge, **spec, "aspects": aspects, "features": self.features(block), "tables": tables}

    def training_inputs(self, plan: registry.RunPlan, judge: str) -> registry.Inputs:
        block: Any = plan.config.judges[judge]
        tables = plan.dataset_tables(block.dataset)
        # By set, then in the order of the spec's tables.
        features = [features_path(name, *table) for name in self.features(block) for table in tables]
        return {**super().training_inputs(plan, judge), "features": features}

    def training_resources(self, block: ProbeJudgeConfig) -> registry.TrainingResources:
        return registry.TrainingResources(minutes=240)

    def train(self, context: registry.TrainingContext) -> None:
        from bert_judge.assets.prepare import load_manifest
        from bert_judge.judges.probe.train import train_probe

        spec, files = context.spec, context.inputs
        paths, each = list(files["features"]), len(spec["tables"])
        features = {name: paths[n * each : (n + 1) * each] for n, name in enumerate(spec["features"])}
        manifest = load_manifest(files["backbone"])
        revisions = {manifest.repository: manifest.revision}
        train_probe(spec, files["train"], files["validation"], features, revisions, context.folder)

    def evaluate(self, context: registry.TrainingContext) -> None:
        from bert_judge.judges.probe.train import PREDICTIONS_FILE, SELECTION_FILE, evaluate_probe

        folder = context.folder
        evaluate_probe(context.spec, folder / SELECTION_FILE, folder / PREDICTIONS_FILE, folder)

    def folder_block(self, folder: Path) -> dict[str, Any]:
        return {"kind": self.name, "dataset": "unknown"}

    def load(self, context: registry.LoadContext) -> Any:
        from bert_judge.judges.probe.judge import CachedStates, Probe

        features = context.inputs.get("features")
        states = CachedStates({Path(path).parents[1].name: path for path in features}) if features else None
        return Probe(Path(context.inputs["checkpoint"]).parent, context.settings["threshold"], states)


def features_path(features: str, model: str, task: str) -> str:
    return str(registry.RESULTS / "features" / features / model / f"{task}.parquet")


def backbone_asset(backbone: str, revision: str | None) -> str:
    """Return the name of the asset of a frozen model: equal models have equal names."""
    return f"backbone-{short_name(backbone)}-{content_key(backbone, revision)[:8]}"


def short_name(repository: str) -> str:
    """Return the last part of a model's name as a name that can be a folder."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", repository.rstrip("/").rpartition("/")[2])[:40].strip("-.") or "model"


def aspect_features(block: ProbeJudgeConfig) -> dict[str, tuple[str, registry.Spec]]:
    """Return aspect → name and spec of the table of hidden states that its classifier reads."""
    features = {}
    for aspect, entry in block.aspect_configs.items():
        spec = block.model_dump(include={"backbone", "revision", "max_length", "precision", "storage_dtype"})
        spec |= {"prompt": fill_aspect(block.prompt, aspect, entry.description), "poolings": block.stored_poolings}
        features[aspect] = (f"{short_name(block.backbone)}-{content_key(tables.canonical(spec))[:8]}", spec)
    return features


def fill_aspect(template: str, name: str, description: str | None) -> str:
    """Fill in the {aspect} of a prompt, if it has one; the other fields stay."""
    aspect = f"{name}: {description}" if description else name
    return template.replace("{aspect}", aspect.replace("{", "{{").replace("}", "}}"))


KIND = ProbeKind()
