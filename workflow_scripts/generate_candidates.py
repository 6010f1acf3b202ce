"""Generate the answers of a model to a task, reusing cached completions."""

import json
from pathlib import Path

from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators import make_generator
from bert_judge.candidates.stage import generate_candidates, with_runtime_settings
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    spec = json.loads(snakemake.params.spec)
    model = spec["model"]
    # A model behind a server has no local files.
    manifest = Path(path) if (path := snakemake.input.get("manifest")) else None
    # A student has no block of its own; its spec holds all its settings.
    block = snakemake.config["models"].get(model)
    settings = with_runtime_settings(spec["settings"], block) if block else spec["settings"]
    generate_candidates(
        spec,
        snakemake.input.table,
        snakemake.output[0],
        store_folder(model),
        lambda: make_generator(model, settings, manifest),
        {model: load_manifest(manifest).revision} if manifest else None,
        keep=True,
    )
