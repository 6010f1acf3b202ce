"""Write the questions and references of a task."""

import json

from bert_judge.runtime.logs import job_log
from bert_judge.tasks.build import build_task

with job_log(snakemake.log[0]):
    build_task(
        json.loads(snakemake.params.spec),
        snakemake.output[0],
        snakemake.input.get("source") or None,
        snakemake.input.get("manifest") or None,
    )
