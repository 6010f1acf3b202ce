"""One shard of a large table of labels."""

import json
from functools import partial

from bert_judge.labels.jobs import shard_job
from bert_judge.runtime.gpus import check_gpus
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    block, inputs = snakemake.config["judges"][spec["judge"]], dict(snakemake.input.items())
    check_device = partial(check_gpus, snakemake.resources)
    shard_job(spec, inputs, snakemake.output[0], block, check_device, snakemake.wildcards.shard)
