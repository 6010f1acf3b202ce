"""The generator behind a prompted judge of a workflow run: what its model says stays in a store."""

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
    """A generator that asks nothing twice: a killed job, a raised limit or another threshold pays only for what was never asked.

    Args:
        spec: `Plan.labels_spec` of a judge of kind llm, or `Plan.preferences_spec` of a prompted judge of pairs.
        manifest: what says where the model's files lie; None for a model behind an address.
        folder: of the store.
        entry: the judge's block of the configuration, for what the spec leaves out: an address, the number of requests at once.

    Raises:
        InputError: the manifest or, once it is needed, the model cannot be loaded.
    """
    name, settings = spec["judge"], spec["settings"]
    path = None if manifest is None else Path(manifest)
    revisions = {} if path is None else {name: load_manifest(path).revision}
    asked = with_runtime_settings(settings["model"], entry["model"]) if entry else settings["model"]
    # A large engine wants many requests at once; elsewhere a kill should lose few.
    shard_rows = VLLM_SHARD_ROWS if asked["generator"] == "vllm" else SHARD_ROWS
    make = partial(make_generator, name, asked, path)
    return CachedGenerator(settings["model"], folder, make, revisions, retry_errors=path is None, shard_rows=shard_rows)
