"""The judge kind `llm`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.judges.registry import RESULTS, Inputs, JudgeKind, LabelResources, LoadContext, Spec

if TYPE_CHECKING:
    from bert_judge.judges.llm.config import LLMJudgeConfig

VLLM_SHARD_ROWS = 1024


class LLMKind(JudgeKind):
    name = "llm"
    definition_files = ("*.yaml", "*.py")
    is_calibrated = True

    def settings(self, block: LLMJudgeConfig) -> Spec:
        model = block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})
        return {**block.model_dump(mode="json", exclude={"model", *block.run_time}), "model": model}

    def assets(self, judge: str, block: LLMJudgeConfig) -> dict[str, Spec]:
        return model_asset(judge, block.model)

    def inputs(self, judge: str, block: LLMJudgeConfig, results: Path = RESULTS) -> Inputs:
        return {"manifest": str(results / "prepared" / f"judge-{judge}.json")} if self.assets(judge, block) else {}

    def label_rule(self, block: LLMJudgeConfig) -> str:
        return f"label_{block.model.generator}"

    def label_resources(self, block: LLMJudgeConfig) -> LabelResources:
        return LabelResources(mem_mb=2000, minutes=720)

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
    # vLLM needs many requests at once; elsewhere a kill should lose few.
    shard_rows = VLLM_SHARD_ROWS if model["generator"] == "vllm" else SHARD_ROWS
    return CachedGenerator(
        model,
        context.store,
        lambda: make(context.name, settings, path),
        revisions,
        retry_errors=path is None,
        shard_rows=shard_rows,
    )


KIND = LLMKind()
