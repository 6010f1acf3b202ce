"""The cached generator behind an LLM judge of a workflow run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators.cache import SHARD_ROWS, CachedGenerator
from bert_judge.candidates.generators.factory import make_generator
from bert_judge.candidates.stage import with_runtime_settings

VLLM_SHARD_ROWS = 1024


def run_generator(
    spec: Mapping[str, Any], manifest: str | Path | None, folder: str | Path, entry: Mapping[str, Any] | None = None
) -> CachedGenerator:
    """Return a generator that caches its completions, so that a killed job, a raised limit or another threshold repeats nothing.

    Args:
        spec: `Plan.labels_spec` of a judge of kind llm, or `Plan.preferences_spec` of a prompted pairwise judge.
        manifest: manifest of the model's files; None for a model behind a server.
        folder: of the cache.
        entry: the judge's configuration block, for settings that the spec leaves out (address, concurrency).

    Raises:
        InputError: the manifest or, once it is needed, the model cannot be loaded.
    """
    name, settings = spec["judge"], spec["settings"]
    path = None if manifest is None else Path(manifest)
    revisions = {} if path is None else {name: load_manifest(path).revision}
    settings_with_runtime = with_runtime_settings(settings["model"], entry["model"]) if entry else settings["model"]
    # vLLM needs many requests at once; elsewhere a kill should lose few.
    shard_rows = VLLM_SHARD_ROWS if settings_with_runtime["generator"] == "vllm" else SHARD_ROWS
    make = partial(make_generator, name, settings_with_runtime, path)
    return CachedGenerator(settings["model"], folder, make, revisions, retry_errors=path is None, shard_rows=shard_rows)
