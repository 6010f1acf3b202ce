"""The known truth about simulated models."""

import json

from bert_judge.judges.simulated.judge import SimulatedJudge
from bert_judge.labels.stage import label_table
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    label_table(spec, snakemake.input.candidates, snakemake.output[0], SimulatedJudge(spec, snakemake.input.table))
