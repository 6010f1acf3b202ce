"""Fail if a test question is among the questions that students are trained on."""

import json

from bert_judge.datasets.merge import check_filter_overlap
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    check_filter_overlap(
        spec,
        train=dict(zip(spec["train"], snakemake.input.train, strict=True)),
        tests={snakemake.wildcards.task: snakemake.input.tests},
        output=snakemake.output[0],
    )
