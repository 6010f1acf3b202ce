"""The judge kind `bert`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import JudgeConfig, Share
from bert_judge.config.models import Input, Training
from bert_judge.encoder.judge_folder import judge_asset, local_content
from bert_judge.judges import registry


class BertJudgeConfig(JudgeConfig):
    """A trained encoder."""

    run_time: ClassVar[frozenset[str]] = frozenset({"num_shards"})
    # Keys that change how a trained judge scores; the others change its training.
    inference_keys: ClassVar[frozenset[str]] = frozenset(
        {"threshold", "policy", "calibrated", "references", "early_exit", "backend", "precision"}
    )

    kind: Literal["bert"]
    dataset: str | None = None
    """train on this dataset …"""
    checkpoint: str | None = None
    """… or take a trained judge: `general` (in this package), hub id or local folder"""
    revision: str | None = None
    """commit of the hub repository of backbone or checkpoint"""
    backbone: str = "minilm"
    """encoder to start from: `minilm` (offline), hub id or local folder; with few rows, `general` (the judge in this package)"""
    input: Input = Input()
    """input format of the encoder"""
    training: Training = Training()
    """hyperparameters of the fine-tuning"""
    features: bool = True
    """combine the encoder with gradient-boosted trees on lexical features, with weights fitted on the validation rows"""
    recalibrate: bool = False
    """refit only slope and offset of the logit of the judge `backbone`, without training; 20 labels are enough"""
    threshold: Share = 0.5
    """lowest score of a correct answer"""
    policy: Literal["strict", "lenient"] = "strict"
    """a partly correct answer is incorrect (`strict`) or correct (`lenient`); the score is the probability that an answer is fully,
    or at least partly, correct. `lenient` needs a judge that was fitted to partial credit, such as `general`"""
    calibrated: bool = True
    """calibrated scores of encoder and trees; false: the encoder's raw sigmoid"""
    references: Literal["all", "closest"] = "all"
    """which of several references the encoder reads: all, and the highest score counts, or only the one with the highest word F1
    against the answer, which is faster"""
    early_exit: bool = True
    """run the encoder only where it could change the verdict of the trees, which is faster; false: run it on every row, so that
    every row has a raw score"""
    backend: Literal["auto", "torch", "openvino"] = "auto"
    """program that runs the encoder; `auto`: the fastest one installed"""
    precision: Literal["auto", "float32", "bfloat16", "int8"] = "auto"
    """number format of the encoder; `auto`: the fastest one of this machine"""
    num_shards: int = Field(1, ge=1)
    """number of parallel jobs that share the rows of a model's tables, for tables of a million answers"""

    @model_validator(mode="after")
    def _one_origin(self) -> BertJudgeConfig:
        if (self.dataset is None) == (self.checkpoint is None):
            raise ValueError("give either a dataset to train on or a checkpoint")
        if self.checkpoint and (useless := self.model_fields_set & {"backbone", "input", "training"}):
            raise ValueError(f"a checkpoint has its own {' and '.join(sorted(useless))}; remove this setting")
        if self.recalibrate and (useless := self.model_fields_set & {"input", "training", "features"}):
            raise ValueError(f"recalibrate trains nothing, so {' and '.join(sorted(useless))} has no effect; remove this setting")
        if self.recalibrate and self.checkpoint:
            raise ValueError("recalibrate needs a dataset; name the judge to start from as its backbone")
        return self


class BertKind(registry.JudgeKind):
    name = "bert"
    config = BertJudgeConfig
    reads_text = True
    is_trained = True
    stage_version = 3
    training_version = 5
    keeps_progress = True
    counts_training = True
    mem_mb, minutes = 4000, 240

    def settings(self, block: BertJudgeConfig) -> registry.Spec:
        return block.model_dump(mode="json", include={"kind", *block.inference_keys})

    def describe_score(self, settings: registry.Spec) -> registry.ScoreDescription:
        return registry.ScoreDescription(settings.get("threshold", 0.5), is_probability=settings.get("calibrated", True))

    def depends_on(self, block: BertJudgeConfig) -> registry.Dependencies:
        return registry.Dependencies(datasets=[block.dataset] if block.dataset else [])

    def assets(self, judge: str, block: BertJudgeConfig) -> dict[str, registry.Spec]:
        repository = block.checkpoint or block.backbone
        return {f"judge-{judge}": judge_asset(repository, block.revision)}

    def content_spec(self, block: BertJudgeConfig) -> registry.Spec:
        return local_content(block.checkpoint)

    def inputs(self, judge: str, block: BertJudgeConfig, results: Path = registry.RESULTS) -> registry.Inputs:
        prepared = str(results / "prepared" / f"judge-{judge}.json")
        return {"checkpoint": registry.judge_file(judge, results) if block.dataset else prepared}

    def training_resources(self, block: BertJudgeConfig) -> registry.TrainingResources:
        return registry.TrainingResources(gpus=1, minutes=720)

    def train(self, context: registry.TrainingContext) -> None:
        context.check_device()
        from bert_judge.judges.bert.train import train_judge

        train_judge(context)

    def label_rule(self, block: BertJudgeConfig) -> str:
        return "label_encoder"

    def gpus(self, block: BertJudgeConfig) -> int:
        return 1

    def recognizes(self, folder: Path) -> bool:
        """Accept every folder but those of other kinds: a published checkpoint has no file that names its kind."""
        card = registry.read_card(folder)
        return not (card.get("pairwise") or card.get("kind"))

    def revisions(self, context: registry.LoadContext) -> dict[str, str] | None:
        from bert_judge.encoder.judge_folder import resolve_checkpoint

        return {context.name: resolve_checkpoint(context.inputs["checkpoint"])[1]}

    def load(self, context: registry.LoadContext) -> Any:
        context.check_device()
        from bert_judge.judges.bert.judge import BERTJudge

        judge = BERTJudge.from_run(context.inputs["checkpoint"], context.settings, context.name)
        judge.check_trained()
        return judge


KIND = BertKind()
