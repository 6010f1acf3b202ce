"""The judge kind `llm`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Aspects, JudgeConfig, Share
from bert_judge.config.models import LanguageModel, OpenAIModel
from bert_judge.judges.registry import RESULTS, Inputs, JudgeKind, LoadContext, Spec

# vLLM needs many requests at once; elsewhere a kill should lose few.
VLLM_SHARD_ROWS = 1024
# Settings of a model that write a text, which a decision model does not.
CHAT_SETTINGS = (
    *("max_new_tokens", "temperature", "top_p", "seed", "system", "thinking", "reasoning_end", "max_tokens_field"),
    *("structured_output", "logprobs"),
)


class LLMJudgeConfig(JudgeConfig):
    """A prompted language model that compares the answer with the references, or grades aspects without references."""

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    api: Literal["chat", "decisions", "system_one"] = "chat"
    """protocol of the model's server: `chat`, or that of a decision model, which returns a probability without writing text:
    `decisions` (OpenAI) or `system_one` (TypeSafe)"""
    reasoning: bool = True
    """explain the comparison before the verdict; false: the verdict only, which is cheaper and can be a probability"""
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
    def _asks_once(self) -> LLMJudgeConfig:
        if self.model.attempts != 1:
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
    definition_files = ("*.yaml", "*.py")
    is_calibrated = True
    mem_mb, minutes = 2000, 720

    def settings(self, block: LLMJudgeConfig) -> Spec:
        model = block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})
        return {**block.model_dump(mode="json", exclude={"model", *block.run_time}), "model": model}

    def assets(self, judge: str, block: LLMJudgeConfig) -> dict[str, Spec]:
        return model_asset(judge, block.model)

    def inputs(self, judge: str, block: LLMJudgeConfig, results: Path = RESULTS) -> Inputs:
        return {"manifest": str(results / "prepared" / f"judge-{judge}.json")} if self.assets(judge, block) else {}

    def label_rule(self, block: LLMJudgeConfig) -> str:
        return f"label_{block.model.generator}"

    def gpus(self, block: LLMJudgeConfig) -> int:
        return model_gpus(block.model)

    def load(self, context: LoadContext) -> Any:
        if (api := context.settings["api"]) != "chat":
            from bert_judge.judges.llm.decisions import DecisionGenerator, DecisionJudge

            return DecisionJudge(context.name, context.settings, load_generator(context, partial(DecisionGenerator, api)))
        from bert_judge.judges.llm.judge import LLMJudge
        from bert_judge.judges.llm.rubric import RubricJudge

        kind = RubricJudge if context.settings.get("aspects") else LLMJudge
        return kind(context.name, context.settings, load_generator(context))


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
