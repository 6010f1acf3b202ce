"""Assets, inputs and loading of the language models that kinds of judges prompt or fine-tune.

Kinds import this module with their declarations, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge.encoder.judge_folder import judge_asset
from bert_judge.judges.registry import Inputs, LoadContext, Spec, TrainingResources, judge_file

# vLLM needs many requests at once; elsewhere a kill should lose few.
VLLM_SHARD_ROWS = 1024
# The weights are in memory with their gradients and the states of the optimizer.
FINE_TUNING = TrainingResources(gpus=1, mem_mb=12_000, minutes=1440, copies_of_backbone=6)


def is_fine_tuned(block: Any) -> bool:
    """Return whether a block names a language model that was or will be fine-tuned as a judge."""
    return bool(block.checkpoint or block.base)


def check_server(model: Any, origin: str) -> None:
    """Raise a ValueError if a model cannot run a fine-tuned judge; `origin` is the key that names the judge."""
    if model.generator != "openai":
        raise ValueError(f"model with {origin} is the server that runs the trained judge; set model.generator to openai")
    if not model.logprobs or model.structured_output == "none":
        raise ValueError(
            "the score of a trained judge is the probability of its verdict; set model.logprobs: true and model.structured_output "
            "to another value than none"
        )


def fine_tuned_assets(judge: str, block: Any) -> dict[str, Spec]:
    """Return what `prepare` fetches for a fine-tuned judge: the base model, or the trained judge."""
    if block.checkpoint:
        return {f"judge-{judge}": judge_asset(block.checkpoint, block.revision)}
    return {f"judge-{judge}": {"repository": block.base, "revision": block.revision, "remote_code": False}}


def fine_tuned_inputs(judge: str, block: Any, results: Path) -> Inputs:
    """Return the files that a fine-tuned judge is loaded from."""
    prepared = str(results / "prepared" / f"judge-{judge}.json")
    return {"checkpoint": prepared if block.checkpoint else judge_file(judge, results), "manifest": prepared}


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
