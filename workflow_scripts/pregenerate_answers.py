"""Generate the answers of a model to several tasks in one job; a light job per task writes its table."""

import json
from pathlib import Path

from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators import make_generator
from bert_judge.candidates.stage import pregenerate_answers, with_runtime_settings
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import Batch, store_folder

with job_log(snakemake.log[0]):
    model, parts = snakemake.wildcards.model, json.loads(snakemake.params.spec)
    manifest = Path(snakemake.input.manifest)
    spec = next(iter(parts.values()))["answers"]
    pregenerate_answers(
        Batch(parts, {name: path for name, path in snakemake.input.items() if name != "manifest"}),
        snakemake.output[0],
        store_folder(model),
        lambda: make_generator(model, with_runtime_settings(spec["settings"], snakemake.config["models"][model]), manifest),
        {model: load_manifest(manifest).revision},
        shard_rows=1024,
    )
