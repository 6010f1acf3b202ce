"""Verdicts that stand in a file."""

import json

from bert_judge.judges.imported.judge import ImportedJudge
from bert_judge.labels.stage import label_table
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    label_table(spec, snakemake.input.candidates, snakemake.output[0], ImportedJudge(spec, snakemake.input.source))
