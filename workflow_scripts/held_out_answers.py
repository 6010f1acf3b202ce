"""The validation rows of a dataset as answers that judges can label."""

from bert_judge.cascades import held_out_answers
from bert_judge.logs import job_log

with job_log(snakemake.log[0]):
    held_out_answers(snakemake.input[0], snakemake.output[0])
