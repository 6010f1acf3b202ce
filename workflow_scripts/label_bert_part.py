"""Verdicts of a trained encoder on a part of a table."""

import json

from bert_judge.labels.table_shards import label_part
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.bert.judge import BERTJudge

    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]
    converted = work_folder(f"results/encoders/{spec['judge']}")
    judge = BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], spec["judge"], converted)
    label_part(spec, snakemake.input.candidates, output, judge, snakemake.wildcards.part, work_folder(output))
