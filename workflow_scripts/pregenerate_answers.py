"""Generate the answers of a model to several tasks in one job; a light job per task writes its table."""

import json

from bert_judge.candidates.stage import load_model, pregenerate_answers
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import Batch, store_folder

with job_log(snakemake.log[0]):
    name, parts = snakemake.wildcards.model, json.loads(snakemake.params.spec)
    manifest, block = snakemake.input.manifest, snakemake.config["models"][name]
    spec = next(iter(parts.values()))["answers"]
    pregenerate_answers(
        Batch(parts, {key: path for key, path in snakemake.input.items() if key != "manifest"}),
        snakemake.output[0],
        load_model(spec, store_folder(name), block, manifest, shard_rows=1024),
    )
