"""Fail if a test question is in the training data."""

import json

from bert_judge.datasets.merge import check_overlap
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    check_overlap(
        spec,
        dataset=snakemake.input.dataset,
        tests={snakemake.wildcards.task: snakemake.input.tests},
        output=snakemake.output[0],
    )
