"""The judge kind `pairwise`: judges that decide which of two answers is better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bert_judge.config.base import JudgeConfig, Texts, as_list
from bert_judge.config.models import JudgeTuning, LanguageModel, Training
from bert_judge.encoder.judge_folder import judge_asset, local_content
from bert_judge.judges import registry
from bert_judge.judges.language_models import (
    FINE_TUNING,
    check_server,
    fine_tuned_assets,
    fine_tuned_inputs,
    load_fine_tuned,
    load_generator,
    model_asset,
    model_gpus,
)
from bert_judge.runtime.errors import InputError

PairSets = Annotated[Texts, BeforeValidator(as_list, json_schema_input_type=str | Texts)]

# Keys of a language model, prompted or fine-tuned.
LANGUAGE_MODEL = {"reasoning", "seed", "max_answer_chars"}
# Origin of a judge → further keys that may be set.
ORIGINS = {
    "model": LANGUAGE_MODEL,
    "pairs": {"revision", "backbone", "base", "max_length", "training", "validation_fraction"},
    "checkpoint": {"revision", *LANGUAGE_MODEL},
    "rule": {"seed"},
}


class PairwiseJudgeConfig(JudgeConfig):
    """A judge that compares two answers in both orders: a trained encoder, a language model, prompted or fine-tuned, or a rule."""

    inference_keys: ClassVar[frozenset[str]] = frozenset({"model", "checkpoint", "rule", *LANGUAGE_MODEL})

    kind: Literal["pairwise"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """language model to prompt, a block as under `models`; with `checkpoint`, a server that runs the trained judge"""
    pairs: PairSets | None = None
    """sets of labelled pairs to train an encoder, or the language model `base`, on"""
    checkpoint: str | None = None
    """trained pairwise judge: hub id or local folder"""
    rule: Literal["longer", "overlap", "random"] | None = None
    """heuristic baseline: `longer` prefers the longer answer, `overlap` the one that shares more words with a reference or,
    without one, with the question; `random` picks at random"""
    revision: str | None = None
    """commit of the hub repository of base, backbone or checkpoint"""
    base: str | None = None
    """language model to fine-tune instead of an encoder: hub id, local folder, path of a `.gguf` file, or `package:NAME`"""
    backbone: str = "minilm"
    """pretrained encoder: `minilm` (offline), a hub id or a local folder"""
    max_length: int = Field(512, ge=16)
    """encoder: maximum input length in tokens, capped by the backbone's context window"""
    training: Training | JudgeTuning = Training()
    """training settings of the encoder, or of the language model, which are those of the kind `llm`"""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """share of the questions held out for metrics and for fitting the encoder's tie model"""
    reasoning: bool = True
    """language model: explain the comparison before the verdict"""
    seed: int = 0
    """seed of the random delimiters around the answers (language model) or of the random picks (`random`)"""
    max_answer_chars: int = Field(20_000, ge=200)
    """language model: maximum length of an answer in characters; the middle of longer answers is cut"""

    @model_validator(mode="before")
    @classmethod
    def _validate_training(cls, block: Any) -> Any:
        """Validate the training settings by what is trained, so that an error names the right keys."""
        if isinstance(block, dict) and block.get("base") and isinstance(block.get("training", {}), dict):
            return {**block, "training": JudgeTuning.model_validate(block.get("training", {}))}
        return block

    @model_validator(mode="after")
    def _one_origin(self) -> PairwiseJudgeConfig:
        configured = [origin for origin in ORIGINS if getattr(self, origin) is not None]
        if self.model and self.checkpoint:
            check_server(self.model, "checkpoint")
            configured.remove("model")
        if len(configured) != 1:
            raise ValueError("give one of model (to prompt), pairs (to train on), checkpoint and rule")
        [origin] = configured
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per order; remove model.attempts")
        elsewhere = {name for settings in ORIGINS.values() for name in settings}
        allowed = ORIGINS[origin] | (LANGUAGE_MODEL if self.base else set())
        if wrong := (self.model_fields_set & elsewhere) - allowed:
            raise ValueError(f"{' and '.join(sorted(wrong))} cannot be combined with {origin}; remove what is set here")
        if self.base and (wrong := self.model_fields_set & {"backbone", "max_length"}):
            raise ValueError(f"{' and '.join(sorted(wrong))} cannot be combined with base; remove it, or use training")
        return self


class PairwiseKind(registry.JudgeKind):
    name = "pairwise"
    config = PairwiseJudgeConfig
    reads_text = True
    prompt_files = ("prompts.yaml",)
    compares_pairs = True
    is_trained = True

    def settings(self, block: PairwiseJudgeConfig) -> registry.Spec:
        if block.rule:
            return block.model_dump(mode="json", include={"kind", "rule", "seed"})
        prompted = block.model_dump(mode="json", include={"kind", *LANGUAGE_MODEL})
        if block.model is None:
            # The spec of the training contains everything else that determines the checkpoint.
            return prompted if block.base or block.checkpoint else {"kind": self.name}
        return {**prompted, "model": block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})}

    def prompts(self, block: PairwiseJudgeConfig) -> str | None:
        return super().prompts(block) if block.model or block.base else None

    def versions(self, block: PairwiseJudgeConfig) -> dict[str, int]:
        """A language model reads the answers as they are; rules and encoder read their words."""
        reads_words = not (block.model or block.base)
        return {name: version for name, version in super().versions(block).items() if reads_words or name != "text"}

    def content_spec(self, block: PairwiseJudgeConfig) -> registry.Spec:
        return local_content(block.checkpoint)

    def depends_on(self, block: PairwiseJudgeConfig) -> registry.Dependencies:
        return registry.Dependencies(pair_sets=block.pairs or [])

    def assets(self, judge: str, block: PairwiseJudgeConfig) -> dict[str, registry.Spec]:
        if block.base or block.checkpoint:
            return fine_tuned_assets(judge, block)
        if block.model:
            return model_asset(judge, block.model)
        return {} if block.rule else {f"judge-{judge}": judge_asset(block.backbone, block.revision)}

    def inputs(self, judge: str, block: PairwiseJudgeConfig, results: Path = registry.RESULTS) -> registry.Inputs:
        prepared = str(results / "prepared" / f"judge-{judge}.json")
        if not self.assets(judge, block):
            return {}
        if block.base:
            return fine_tuned_inputs(judge, block, results)
        if block.model and not block.checkpoint:
            return {"manifest": prepared}
        return {"checkpoint": registry.judge_file(judge, results) if block.pairs else prepared}

    def training_spec(self, plan: registry.RunPlan, judge: str) -> registry.Spec:
        spec = super().training_spec(plan, judge)
        unused = {"backbone", "max_length"} if spec["base"] else {"base"}
        return {key: value for key, value in spec.items() if key not in unused} | {"pairs": sorted(spec["pairs"])}

    def training_resources(self, block: PairwiseJudgeConfig) -> registry.TrainingResources:
        return FINE_TUNING if block.base else registry.TrainingResources(gpus=1, minutes=720)

    def train(self, context: registry.TrainingContext) -> None:
        context.check_device()
        if "base" in context.spec:
            from bert_judge.judges.pairwise.fine_tuned import train_judge

            train_judge(context)
        else:
            from bert_judge.judges.pairwise.train import train_pair_judge

            train_pair_judge(context)

    def label_rule(self, block: PairwiseJudgeConfig) -> str:
        if block.rule:
            return "compare_rule"
        return f"compare_{block.model.generator if block.model else 'hf' if block.base else 'encoder'}"

    def gpus(self, block: PairwiseJudgeConfig) -> int:
        return 0 if block.rule else model_gpus(block.model) if block.model else 1

    def attack_problem(self, block: PairwiseJudgeConfig) -> str | None:
        return "compares two answers, and an attack is a single one; choose another judge"

    def recognizes(self, folder: Path) -> bool:
        card = registry.read_card(folder)
        return bool(card.get("pairwise")) or card.get("kind") == self.name

    def load(self, context: registry.LoadContext) -> Any:
        settings = context.settings
        if rule := settings.get("rule"):
            from bert_judge.judges.pairwise.rules import PairRuleJudge

            return PairRuleJudge(rule, settings["seed"])
        if "model" in settings and "checkpoint" not in context.inputs:
            from bert_judge.judges.pairwise.llm import PairLLMJudge

            return PairLLMJudge(context.name, settings, load_generator(context))
        from bert_judge.encoder.judge_folder import resolve_checkpoint

        if registry.read_card(resolve_checkpoint(context.inputs["checkpoint"])[0]).get("kind") == self.name:
            from bert_judge.judges.pairwise.fine_tuned import FineTunedPairJudge

            return load_fine_tuned(context, FineTunedPairJudge)
        if "model" in settings:
            raise InputError(f"judges.{context.name}.model: the checkpoint is no language model; remove model")
        context.check_device()
        from bert_judge.judges.pairwise.encoder import PairEncoderJudge

        return PairEncoderJudge.from_run(context.inputs["checkpoint"], context.name)


KIND = PairwiseKind()
