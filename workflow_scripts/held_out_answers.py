"""Write the validation rows of a dataset as candidates for judges to label."""

from bert_judge.judges.cascade.escalation import held_out_answers
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    held_out_answers(snakemake.input[0], snakemake.output[0])
