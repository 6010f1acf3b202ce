"""Where the judges of a cascade are sure."""

import json

from bert_judge.logs import job_log
from bert_judge.training.fit_cascade import fit_cascade

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    labels = dict(zip(spec["learners"], snakemake.input.labels, strict=True))
    fit_cascade(spec, snakemake.input.validation, labels, snakemake.output.cascade, snakemake.output.picture)
