"""The judge kind `llm`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Aspects, JudgeConfig, Share
from bert_judge.config.models import JudgeTuning, LanguageModel, OpenAIModel
from bert_judge.encoder.judge_folder import local_content
from bert_judge.judges import registry
from bert_judge.judges.language_models import (
    FINE_TUNING,
    check_server,
    fine_tuned_assets,
    fine_tuned_inputs,
    is_fine_tuned,
    load_fine_tuned,
    load_generator,
    model_asset,
    model_gpus,
)

# Settings of a model that write a text, which a decision model does not.
CHAT_SETTINGS = (
    *("max_new_tokens", "temperature", "top_p", "seed", "system", "thinking", "reasoning_end", "max_tokens_field"),
    *("structured_output", "logprobs"),
)


class LLMJudgeConfig(JudgeConfig):
    """A language model that compares the answer with the references, prompted or fine-tuned on labels, or that is prompted to grade
    aspects without references."""

    # Keys that change how a trained judge scores; the others change its training.
    inference_keys: ClassVar[frozenset[str]] = frozenset({"model", "reasoning", "threshold", "seed", "max_candidate_chars"})

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")] | None = None
    """the model to prompt: a block as under `models`; with `dataset` or `checkpoint`, a server that runs the trained judge"""
    dataset: str | None = None
    """fine-tune `base` on this dataset …"""
    checkpoint: str | None = None
    """… or take a fine-tuned judge: hub id or local folder"""
    base: str | None = None
    """language model to fine-tune: hub id, local folder, path of a `.gguf` file, or `package:NAME`"""
    revision: str | None = None
    """commit of the hub repository of `base` or `checkpoint`"""
    training: JudgeTuning = JudgeTuning()
    """hyperparameters of the fine-tuning"""
    api: Literal["chat", "decisions", "system_one"] = "chat"
    """protocol of the model's server: `chat`, or that of a decision model, which returns a probability without writing text:
    `decisions` (OpenAI) or `system_one` (TypeSafe)"""
    reasoning: bool = True
    """explain the comparison before the verdict; false: the verdict only, which is cheaper and can be a probability. A fine-tuned
    judge always gives a probability, and explains it afterwards if its training data did"""
    aspects: Aspects | None = None
    """grade these aspects in one call instead of comparing with references: `roscoe`, a list of names, or names with description
    and range; the score is the mean of the grades, each scaled to [0, 1]"""
    show_references: bool = False
    """aspects: show the references, if there are any, as answers with the highest grades"""
    threshold: Share = 0.5
    """lowest score that counts as correct: a probability if the backend returns log-probabilities, or the mean grade"""
    seed: int = 0
    """seed of the random delimiters around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """maximum length of an answer in characters; the middle of longer answers is cut"""

    @model_validator(mode="after")
    def _one_origin(self) -> LLMJudgeConfig:
        origins = [name for name in ("dataset", "checkpoint") if getattr(self, name)]
        if len(origins) > 1 or not (origins or self.model):
            raise ValueError("give one of model (to prompt), dataset (to train on) and checkpoint")
        if (self.dataset is None) != (self.base is None):
            raise ValueError("dataset and base belong together: base is the model that is fine-tuned on the dataset")
        if useless := self.model_fields_set & ({"training"} if not self.dataset else set()):
            raise ValueError(f"{useless.pop()} has no effect without dataset; remove it")
        if origins and self.model:
            check_server(self.model, origins[0])
        if self.show_references and not self.aspects:
            raise ValueError("show_references belongs to aspects; without these the references are shown anyway; remove it")
        if origins and (self.aspects or self.api != "chat"):
            raise ValueError(f"{'aspects' if self.aspects else 'api'} cannot be combined with {origins[0]}; remove it")
        return self

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudgeConfig:
        if self.model and self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self

    @model_validator(mode="after")
    def _check_api(self) -> LLMJudgeConfig:
        if self.api == "chat":
            return self
        if not isinstance(self.model, OpenAIModel):
            raise ValueError(f"api: {self.api} is the protocol of a server; set model.generator to openai")
        unused = [f"model.{name}" for name in CHAT_SETTINGS if getattr(self.model, name) != OpenAIModel.model_fields[name].default]
        if unused := [*(["aspects"] if self.aspects else []), *([] if self.reasoning else ["reasoning"]), *unused]:
            raise ValueError(f"{unused[0]} has no effect with api: {self.api}; remove it")
        if self.api == "system_one" and self.model.base_url == OpenAIModel.model_fields["base_url"].default:
            raise ValueError("api: system_one needs model.base_url, such as https://api.typesafe.ai/v1")
        return self


class LLMKind(registry.JudgeKind):
    name = "llm"
    config = LLMJudgeConfig
    stage_version = 2
    prompt_files = ("prompts.yaml",)
    training_version = 6
    counts_training = True
    mem_mb, minutes = 2000, 720

    def settings(self, block: LLMJudgeConfig) -> registry.Spec:
        # The spec of the training contains everything else that determines a trained judge.
        trained = {"dataset", "checkpoint", "base", "revision", "training"}
        excluded = {"model", *trained, *block.run_time, *({"aspects", "show_references", "api"} if is_fine_tuned(block) else ())}
        settings: registry.Spec = block.model_dump(mode="json", exclude=excluded)
        if block.model is None:
            return settings
        return {**settings, "model": block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})}

    def needs_references(self, settings: registry.Spec) -> bool:
        return not settings.get("aspects")

    def depends_on(self, block: LLMJudgeConfig) -> registry.Dependencies:
        return registry.Dependencies(datasets=[block.dataset] if block.dataset else [])

    def assets(self, judge: str, block: LLMJudgeConfig) -> dict[str, registry.Spec]:
        return fine_tuned_assets(judge, block) if is_fine_tuned(block) else model_asset(judge, block.model)

    def content_spec(self, block: LLMJudgeConfig) -> registry.Spec:
        return local_content(block.checkpoint)

    def inputs(self, judge: str, block: LLMJudgeConfig, results: Path = registry.RESULTS) -> registry.Inputs:
        if is_fine_tuned(block):
            return fine_tuned_inputs(judge, block, results)
        return {"manifest": str(results / "prepared" / f"judge-{judge}.json")} if self.assets(judge, block) else {}

    def trains(self, block: LLMJudgeConfig) -> bool:
        return block.dataset is not None

    def training_resources(self, block: LLMJudgeConfig) -> registry.TrainingResources:
        return FINE_TUNING

    def train(self, context: registry.TrainingContext) -> None:
        context.check_device()
        from bert_judge.judges.llm.fine_tuned import train_judge

        train_judge(context)

    def label_rule(self, block: LLMJudgeConfig) -> str:
        return f"label_{block.model.generator if block.model else 'hf'}"

    def gpus(self, block: LLMJudgeConfig) -> int:
        return model_gpus(block.model) if block.model else 1

    def load(self, context: registry.LoadContext) -> Any:
        if "checkpoint" in context.inputs:
            from bert_judge.judges.llm.fine_tuned import FineTunedJudge

            return load_fine_tuned(context, FineTunedJudge)
        if (api := context.settings["api"]) != "chat":
            from bert_judge.judges.llm.decisions import DecisionGenerator, DecisionJudge

            return DecisionJudge(context.name, context.settings, load_generator(context, partial(DecisionGenerator, api)))
        from bert_judge.judges.llm.judge import LLMJudge
        from bert_judge.judges.llm.rubric import RubricJudge

        kind = RubricJudge if context.settings.get("aspects") else LLMJudge
        return kind(context.name, context.settings, load_generator(context))


KIND = LLMKind()
