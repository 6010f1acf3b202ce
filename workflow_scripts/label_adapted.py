"""Verdicts of another judge, fitted to the share of right answers of the table."""

import json

from bert_judge.judges.prior_shift.stage import label_with_prior_shift
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    validation = snakemake.input.validation or None
    label_with_prior_shift(json.loads(snakemake.params.spec), snakemake.input.labels, validation, snakemake.output[0])
