"""Fit the decision thresholds of a cascade."""

import json

from bert_judge.judges.cascade.fit import fit_cascade
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    labels = dict(zip(spec["learners"], snakemake.input.labels, strict=True))
    fit_cascade(spec, snakemake.input.validation, labels, snakemake.output.cascade)
