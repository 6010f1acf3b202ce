"""The answers that one judge of a cascade leaves to the next."""

from bert_judge.cascades import leave_rows
from bert_judge.logs import job_log

with job_log(snakemake.log[0]):
    paths = (snakemake.input.candidates, snakemake.input.labels, snakemake.input.cascade, snakemake.output[0])
    leave_rows(snakemake.params.judge, *paths)
