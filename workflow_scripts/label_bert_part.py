"""Verdicts of a trained encoder on a part of a table."""

import json

from bert_judge import gpus
from bert_judge.logs import job_log
from bert_judge.parts import label_part
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    gpus.check(snakemake.resources)
    from bert_judge.judges.bert import BERTJudge

    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    converted = work_folder(f"results/encoders/{spec['judge']}")
    judge = BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], spec["judge"], converted)
    label_part(spec, snakemake.input.candidates, output, judge, snakemake.wildcards.part, work_folder(output))
