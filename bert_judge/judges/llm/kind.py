"""The judge kind `llm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.judges.registry import RESULTS, Inputs, JudgeKind, LabelResources, LoadContext, Spec

if TYPE_CHECKING:
    from bert_judge.judges.llm.config import LLMJudgeConfig


class LLMKind(JudgeKind):
    """See `JudgeKind`."""

    name = "llm"
    definition_files = ("*.yaml", "*.py")
    is_calibrated = True
    is_costly = True

    @property
    def config(self) -> type[LLMJudgeConfig]:
        from bert_judge.judges.llm.config import LLMJudgeConfig

        return LLMJudgeConfig

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


def load_generator(context: LoadContext) -> Any:
    """Return the generator of a prompted judge, with or without a cache of its completions."""
    from bert_judge.candidates.generators.factory import make_generator
    from bert_judge.candidates.stage import with_runtime_settings
    from bert_judge.judges.llm.run_generator import run_generator

    model, manifest = context.settings["model"], context.inputs.get("manifest")
    # vLLM may run in another Python, whose torch sees what this one does not.
    if model["generator"] == "hf":
        context.check_device()
    if context.store is not None:
        return run_generator(context.spec, manifest, context.store, context.block)
    path = None if manifest is None else Path(manifest)
    return make_generator(context.name, with_runtime_settings(model, context.block["model"]), path)


KIND = LLMKind()
