"""Build the specs of probes: tables of hidden states and training.

Probes and aspects with the same backbone, prompt and settings share a table of hidden states; its folder is named after the
backbone and a hash of these settings.
"""

from __future__ import annotations

from functools import cached_property

from bert_judge.judges.probe import aspect_features, backbone_asset
from bert_judge.judges.probe.config import ProbeJudgeConfig
from bert_judge.judges.registry import Spec
from bert_judge.plan.resolved_config import ResolvedConfig


class ProbeSpecs(ResolvedConfig):
    """Names and specs of probes and their hidden states."""

    def probe(self, name: str) -> ProbeJudgeConfig:
        entry = self.config.judges[name]
        assert isinstance(entry, ProbeJudgeConfig)
        return entry

    @cached_property
    def feature_sets(self) -> dict[str, Spec]:
        """Return the name of each set of hidden states → the settings that the states depend on."""
        return {name: spec for judge in self.judges("probe") for name, spec in aspect_features(self.probe(judge)).values()}

    def features_of(self, judge: str) -> list[str]:
        """Return the distinct names of the sets of hidden states that a probe reads."""
        return list(dict.fromkeys(name for name, _ in aspect_features(self.probe(judge)).values()))

    def backbone_of(self, features: str) -> str:
        """Return the asset of the model that produces a set of hidden states."""
        spec = self.feature_sets[features]
        return backbone_asset(spec["backbone"], spec["revision"])

    def features_spec(self, features: str, model: str, task: str) -> Spec:
        """Return the spec of the hidden states of a model's answers to a task, or of a selection of answers."""
        return {"features": features, "model": model, "task": task, **self.feature_sets[features]}

    def probe_spec(self, judge: str) -> Spec:
        probe = self.probe(judge)
        # The threshold applies to labels only.
        excluded = {"aspects", "threshold", *ProbeJudgeConfig.reads} - {"pooling"}
        settings = probe.model_dump(mode="json", exclude=excluded)
        features = aspect_features(probe)
        aspects = {
            name: {**entry.model_dump(mode="json", exclude={"description"}), "features": features[name][0]}
            for name, entry in probe.aspect_configs.items()
        }
        return {
            "judge": judge,
            **settings,
            "aspects": aspects,
            "features": dict(features.values()),
            "tables": [[model, task] for model, task in self.dataset_tables(probe.dataset)],
        }
