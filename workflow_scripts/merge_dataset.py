"""Merge labelled answers and split them by question."""

import json

from bert_judge.datasets.merge import build_dataset
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    build_dataset(
        json.loads(snakemake.params.spec),
        candidates=snakemake.input.candidates,
        labels=snakemake.input.labels,
        weak_labels=snakemake.input.weak_labels,
        train=snakemake.output.train,
        validation=snakemake.output.validation,
        validation_weak=snakemake.output.validation_weak,
        summary=snakemake.output.summary,
    )
