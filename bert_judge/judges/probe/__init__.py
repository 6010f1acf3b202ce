"""The judge kind `probe`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.judges.registry import (
    RESULTS,
    Dependencies,
    Inputs,
    JudgeKind,
    LabelResources,
    LoadContext,
    RunPlan,
    Spec,
    overlap_inputs,
)
from bert_judge.runtime.resume import content_key

if TYPE_CHECKING:
    from bert_judge.config import Config
    from bert_judge.judges.probe.config import ProbeJudgeConfig


class ProbeKind(JudgeKind):
    name = "probe"
    is_trained = True
    is_calibrated = True

    def settings(self, block: ProbeJudgeConfig) -> Spec:
        return block.model_dump(mode="json", include={"kind", "threshold"})

    def depends_on(self, block: ProbeJudgeConfig) -> Dependencies:
        return Dependencies(datasets=[block.dataset])

    def assets(self, judge: str, block: ProbeJudgeConfig) -> dict[str, Spec]:
        asset = backbone_asset(block.backbone, block.revision)
        return {asset: {"repository": block.backbone, "revision": block.revision, "remote_code": False}}

    def inputs(self, judge: str, block: ProbeJudgeConfig, results: Path = RESULTS) -> Inputs:
        return {"probe": str(results / "judges" / judge / "probe.json")}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        block: Any = plan.config.judges[judge]
        names = dict.fromkeys(name for name, _ in aspect_features(block).values())
        features = [str(RESULTS / "features" / name / model / f"{task}.parquet") for name in names]
        return {**self.inputs(judge, block), "features": features, **overlap_inputs(plan, block, task)}

    def label_rule(self, block: ProbeJudgeConfig) -> str:
        return "label_from_features"

    def label_resources(self, block: ProbeJudgeConfig) -> LabelResources:
        return LabelResources(mem_mb=4000, minutes=60)

    def checks(self, config: Config, judge: str, block: ProbeJudgeConfig) -> list[str]:
        kinds = [augmentation.kind for augmentation in config.datasets[block.dataset].augment]
        error = f"judges.{judge}.dataset: {block.dataset!r} is augmented ({', '.join(kinds)}); use a dataset without `augment`"
        return [error] if kinds else []

    def recognizes(self, folder: Path) -> bool:
        return (folder / "probe.json").is_file()

    def folder_inputs(self, folder: Path) -> Inputs:
        return {"probe": str(folder / "probe.json")}

    def folder_block(self, folder: Path) -> dict[str, Any]:
        return {"kind": self.name, "dataset": "unknown"}

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.probe.judge import CachedStates, Probe

        features = context.inputs.get("features")
        states = CachedStates({Path(path).parents[1].name: path for path in features}) if features else None
        return Probe(Path(context.inputs["probe"]).parent, context.settings["threshold"], states)


def backbone_asset(backbone: str, revision: str | None) -> str:
    """Return the name of the asset of a frozen model: equal models have equal names."""
    return f"backbone-{short_name(backbone)}-{content_key(backbone, revision)[:8]}"


def short_name(repository: str) -> str:
    """Return the last part of a model's name as a name that can be a folder."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", repository.rstrip("/").rpartition("/")[2])[:40].strip("-.") or "model"


def aspect_features(block: ProbeJudgeConfig) -> dict[str, tuple[str, Spec]]:
    """Return aspect → name and spec of the table of hidden states that its classifier reads."""
    features = {}
    for aspect, entry in block.aspect_configs.items():
        spec = {
            "backbone": block.backbone,
            "revision": block.revision,
            "prompt": fill_aspect(block.prompt, aspect, entry.description),
            "poolings": block.stored_poolings,
            "max_length": block.max_length,
            "precision": block.precision,
            "storage_dtype": block.storage_dtype,
        }
        features[aspect] = (f"{short_name(block.backbone)}-{content_key(tables.canonical(spec))[:8]}", spec)
    return features


def fill_aspect(template: str, name: str, description: str | None) -> str:
    """Fill in the {aspect} of a prompt, if it has one; the other fields stay."""
    aspect = f"{name}: {description}" if description else name
    return template.replace("{aspect}", aspect.replace("{", "{{").replace("}", "}}"))


KIND = ProbeKind()
