"""Merge the labels of a cascade from those of its judges."""

import json

from bert_judge.judges.cascade.stage import label_cascade
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    labels = list(zip(spec["settings"]["judges"], snakemake.input.labels, strict=True))
    label_cascade(spec, snakemake.input.candidates, labels, snakemake.input.cascade, snakemake.output[0])
