"""The judge kind `llm`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Aspects, JudgeConfig, Share
from bert_judge.config.models import LanguageModel, OpenAIModel
from bert_judge.config.training import JudgeTuning
from bert_judge.encoder.judge_folder import judge_asset, local_content
from bert_judge.judges.registry import RESULTS, Dependencies, Inputs, JudgeKind, LoadContext, RunPlan, Spec, read_card

# vLLM needs many requests at once; elsewhere a kill should lose few.
VLLM_SHARD_ROWS = 1024
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
        if origins and self.model and not isinstance(self.model, OpenAIModel):
            raise ValueError(f"model with {origins[0]} is the server that runs the trained judge; set model.generator to openai")
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


class LLMKind(JudgeKind):
    name = "llm"
    config = LLMJudgeConfig
    prompt_files = ("prompts.yaml",)
    counts_training = True
    mem_mb, minutes = 2000, 720

    def settings(self, block: LLMJudgeConfig) -> Spec:
        # The spec of the training contains everything else that determines a trained judge.
        trained = {"dataset", "checkpoint", "base", "revision", "training"}
        excluded = {"model", *trained, *block.run_time, *({"aspects", "api"} if is_fine_tuned(block) else ())}
        settings: Spec = block.model_dump(mode="json", exclude=excluded)
        if block.model is None:
            return settings
        return {**settings, "model": block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})}

    def depends_on(self, block: LLMJudgeConfig) -> Dependencies:
        return Dependencies(datasets=[block.dataset] if block.dataset else [])

    def assets(self, judge: str, block: LLMJudgeConfig) -> dict[str, Spec]:
        return fine_tuned_assets(judge, block) if is_fine_tuned(block) else model_asset(judge, block.model)

    def content_spec(self, block: LLMJudgeConfig) -> Spec:
        return local_content(block.checkpoint)

    def inputs(self, judge: str, block: LLMJudgeConfig, results: Path = RESULTS) -> Inputs:
        if is_fine_tuned(block):
            return fine_tuned_inputs(judge, block, results)
        return {"manifest": str(results / "prepared" / f"judge-{judge}.json")} if self.assets(judge, block) else {}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        block: Any = plan.config.judges[judge]
        return {**self.inputs(judge, block), **self.overlap_inputs(plan, block, task)}

    def label_rule(self, block: LLMJudgeConfig) -> str:
        return f"label_{block.model.generator if block.model else 'hf'}"

    def gpus(self, block: LLMJudgeConfig) -> int:
        return model_gpus(block.model) if block.model else 1

    def recognizes(self, folder: Path) -> bool:
        return read_card(folder).get("kind") == self.name

    def load(self, context: LoadContext) -> Any:
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


def is_fine_tuned(block: Any) -> bool:
    """Return whether a block names a language model that was or will be fine-tuned as a judge."""
    return bool(block.checkpoint or block.base)


def fine_tuned_assets(judge: str, block: Any) -> dict[str, Spec]:
    """Return what `prepare` fetches for a fine-tuned judge: the base model, or the trained judge."""
    if block.checkpoint:
        return {f"judge-{judge}": judge_asset(block.checkpoint, block.revision)}
    return {f"judge-{judge}": {"repository": block.base, "revision": block.revision, "remote_code": False}}


def fine_tuned_inputs(judge: str, block: Any, results: Path) -> Inputs:
    """Return the files that a fine-tuned judge is loaded from."""
    trained, prepared = results / "judges" / judge / "judge.json", results / "prepared" / f"judge-{judge}.json"
    return {"checkpoint": str(prepared if block.checkpoint else trained), "manifest": str(prepared)}


def load_fine_tuned(context: LoadContext, judge: Any) -> Any:
    """Load a judge of the class `judge` from its folder, run by transformers or by the model of the configuration."""
    from bert_judge.encoder.judge_folder import resolve_checkpoint

    folder, _ = resolve_checkpoint(context.inputs["checkpoint"])
    generator = None
    if context.settings.get("model"):
        # The server has the model.
        generator = load_generator(replace(context, inputs={}))
    else:
        context.check_device()
    return judge.load(folder, context.name, context.settings, generator=generator)


def model_asset(judge: str, model: Any) -> dict[str, Spec]:
    """Return what `prepare` fetches for the language model of a judge; nothing for one behind an address."""
    if model.generator == "openai":
        return {}
    return {f"judge-{judge}": {"repository": model.model, "revision": model.revision, "remote_code": model.trust_remote_code}}


def model_gpus(model: Any) -> int:
    """Return the GPUs that a job with a language model holds."""
    return 0 if model.generator == "openai" else getattr(model, "tensor_parallel_size", 1)


def load_generator(context: LoadContext, make: Callable[..., Any] | None = None) -> Any:
    """Return the generator of a prompted judge, built by `make`; with `context.store`, nothing is requested twice."""
    from bert_judge.assets.prepare import load_manifest
    from bert_judge.candidates import generators
    from bert_judge.candidates.generators.cache import SHARD_ROWS, CachedGenerator
    from bert_judge.candidates.stage import with_runtime_settings

    model, manifest = context.settings["model"], context.inputs.get("manifest")
    # vLLM may run in another Python, whose torch sees what this one does not.
    if model["generator"] == "hf":
        context.check_device()
    settings = with_runtime_settings(model, context.block["model"]) if context.block else model
    path = None if manifest is None else Path(manifest)
    make = make or generators.make_generator
    if context.store is None:
        return make(context.name, settings, path)
    revisions = {} if path is None else {context.name: load_manifest(path).revision}
    shard_rows = VLLM_SHARD_ROWS if model["generator"] == "vllm" else SHARD_ROWS
    load = partial(make, context.name, settings, path)
    return CachedGenerator(model, context.store, load, revisions, retry_errors=path is None, shard_rows=shard_rows)


KIND = LLMKind()
