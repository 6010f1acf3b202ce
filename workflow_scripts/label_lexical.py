"""Verdicts of a rule on words."""

import json

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.labels.stage import label_table
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    with LexicalJudge(spec["settings"]) as judge:
        label_table(spec, snakemake.input.candidates, snakemake.output[0], judge)
