"""Labels of many tables by one judge that is loaded once; each table is then written by a job of its own."""

import json
from functools import partial

from bert_judge.labels.stage import prelabel_job
from bert_judge.runtime.hardware import check_gpus
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    specs = json.loads(snakemake.params.spec)
    block, inputs = snakemake.config["judges"][snakemake.wildcards.judge], dict(snakemake.input.items())
    prelabel_job(specs, inputs, snakemake.output[0], block, check_device=partial(check_gpus, snakemake.resources))
