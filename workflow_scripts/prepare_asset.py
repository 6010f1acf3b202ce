"""Resolve a model or checkpoint to a folder on this machine: the only job with a network."""

import json

from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0], offline=False):
    from bert_judge.assets.prepare import prepare

    prepare(json.loads(snakemake.params.spec), snakemake.output[0])
