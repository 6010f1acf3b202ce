"""The answers that the judges of a cascade leave to the next."""

from bert_judge.judges.cascade.stage import leave_rows
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    labels = list(zip(snakemake.params.judges, snakemake.input.labels, strict=True))
    leave_rows(snakemake.input.candidates, labels, snakemake.input.cascade, snakemake.output[0])
