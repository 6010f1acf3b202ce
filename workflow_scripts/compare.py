"""Preferences of a pairwise judge, of any origin."""

import json
from functools import partial

from bert_judge.labels.stage import compare_job
from bert_judge.runtime.hardware import check_gpus
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    block = snakemake.config["judges"][spec["judge"]]
    compare_job(
        spec, dict(snakemake.input.items()), snakemake.output[0], block, check_device=partial(check_gpus, snakemake.resources)
    )
