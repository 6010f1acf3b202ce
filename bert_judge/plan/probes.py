"""What probes read, and the specs of their tables of hidden states and of their training.

Two probes that read the same thing, and two aspects with the same prompt, share a table of hidden states: its folder is named after
the backbone and after all that the states depend on.
"""

from __future__ import annotations

from functools import cached_property

from bert_judge import tables
from bert_judge.judges.probe.config import LEARNING, PROMPT, ProbeJudgeConfig
from bert_judge.judges.probe.kind import backbone_asset, short_name
from bert_judge.judges.registry import Spec
from bert_judge.plan.resolved_config import ResolvedConfig
from bert_judge.runtime.resume import content_key


class ProbeSpecs(ResolvedConfig):
    """The part of the plan that is about probes."""

    def probe(self, name: str) -> ProbeJudgeConfig:
        entry = self.config.judges[name]
        assert isinstance(entry, ProbeJudgeConfig)
        return entry

    @cached_property
    def feature_sets(self) -> dict[str, Spec]:
        """Name of a set of hidden states → all that the states of an answer depend on."""
        return {name: spec for judge in self.judges("probe") for name, spec in self.read_by(judge).values()}

    def read_by(self, judge: str) -> dict[str, tuple[str, Spec]]:
        """Aspect → name and spec of the hidden states that it is told from."""
        probe = self.probe(judge)
        found = {}
        for aspect, entry in probe.aspect_configs.items():
            spec = {
                "backbone": probe.backbone,
                "revision": probe.revision,
                "prompt": filled(probe.prompt, aspect, entry.description),
                "poolings": probe.stored_poolings,
                "max_length": probe.max_length,
                "precision": probe.precision,
                "storage_dtype": probe.storage_dtype,
            }
            found[aspect] = (f"{short_name(probe.backbone)}-{content_key(tables.canonical(spec))[:8]}", spec)
        return found

    def features_of(self, judge: str) -> list[str]:
        """ResolvedConfig of the sets of hidden states that a probe reads, each once."""
        return list(dict.fromkeys(name for name, _ in self.read_by(judge).values()))

    def backbone_of(self, features: str) -> str:
        """The asset of the model whose hidden states a set holds."""
        spec = self.feature_sets[features]
        return backbone_asset(spec["backbone"], spec["revision"])

    def features_spec(self, features: str, model: str, task: str) -> Spec:
        """Of the hidden states of a model's answers to a task, or of a selection of answers."""
        return {"features": features, "model": model, "task": task, **self.feature_sets[features]}

    def probe_spec(self, judge: str) -> Spec:
        """Of a probe's training."""
        probe = self.probe(judge)
        # A threshold is read with the verdicts; baselines stand beside the probe and change nothing in it.
        other = {"aspects", "threshold", "baselines", "baseline_training", *ProbeJudgeConfig.reads} - {"pooling"}
        made = probe.model_dump(mode="json", exclude=other)
        read = self.read_by(judge)
        aspects = {
            name: {**entry.model_dump(mode="json", exclude={"description"}), "features": read[name][0]}
            for name, entry in probe.aspect_configs.items()
        }
        return {
            "judge": judge,
            **made,
            "aspects": aspects,
            "features": dict(read.values()),
            "tables": [[model, task] for model, task in self.dataset_tables(probe.dataset)],
        }

    def baseline_spec(self, judge: str, baseline: str) -> Spec:
        """Of what a baseline that loads the backbone says of a probe's test part."""
        probe = self.probe(judge)
        # One model for all aspects reads one prompt, and has a head for each of them.
        prompt = PROMPT if "{aspect}" in probe.prompt else probe.prompt
        spec = {
            "judge": judge,
            "baseline": baseline,
            **probe.model_dump(mode="json", include={"dataset", "backbone", "revision", "max_length"}),
            "aspects": {name: entry.model_dump(mode="json") for name, entry in probe.aspect_configs.items()},
        }
        if baseline not in LEARNING:
            return spec
        training = probe.baseline_training
        other = {*training.run_time, "lora" if baseline == "fine_tuned" else "head_lr_multiplier"}
        other |= {"lora_learning_rate" if baseline == "fine_tuned" else "learning_rate"}
        return {**spec, "prompt": prompt, "training": training.model_dump(mode="json", exclude=other)}

    def measures_spec(self, judge: str) -> Spec:
        """Of a probe's figures beside those of its baselines."""
        return {**self.probe_spec(judge), "baselines": list(self.probe(judge).baselines)}


def filled(template: str, name: str, description: str | None) -> str:
    """A prompt whose {aspect}, if it has one, says what is judged; the other fields stay."""
    told = f"{name}: {description}" if description else name
    return template.replace("{aspect}", told.replace("{", "{{").replace("}", "}}"))
