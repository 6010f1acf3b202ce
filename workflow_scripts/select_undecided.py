"""Select the answers that a cascade escalates to its next judge."""

from bert_judge.judges.cascade.escalation import select_undecided
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    labels = list(zip(snakemake.params.judges, snakemake.input.labels, strict=True))
    select_undecided(snakemake.input.candidates, labels, snakemake.input.get("cascade"), snakemake.output[0])
