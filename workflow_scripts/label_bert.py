"""Verdicts of a trained encoder, given here or joined from parts."""

import json

from bert_judge import gpus, parts
from bert_judge.labels import label_table
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    if snakemake.input.parts:
        parts.join(spec, snakemake.input.candidates, list(snakemake.input.parts), output)
    else:
        gpus.check(snakemake.resources)
        from bert_judge.judges.bert import BERTJudge

        converted = work_folder(f"results/encoders/{spec['judge']}")
        judge = BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], spec["judge"], converted)
        label_table(spec, snakemake.input.candidates, output, judge, work_folder(output))
