"""Verdicts of a prompted language model."""

import json

from bert_judge.judges.llm import LLMJudge
from bert_judge.labels import label_table
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    entry = snakemake.config["judges"][spec["judge"]]
    judge = LLMJudge.from_run(spec, snakemake.input.get("manifest"), work_folder(output), entry)
    label_table(spec, snakemake.input.candidates, output, judge)
