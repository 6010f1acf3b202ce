"""Verdicts of a trained encoder: given here, found where the job of many tables left them, or joined from parts."""

import json

from bert_judge.judges.bert.judge_folder import resolve_checkpoint
from bert_judge.judges.lazy import WhenNeeded
from bert_judge.labels import table_shards
from bert_judge.labels.stage import label_table
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]

    def load():
        gpus.check_gpus(snakemake.resources)
        from bert_judge.judges.bert.judge import BERTJudge

        converted = work_folder(f"results/encoders/{spec['judge']}")
        return BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], spec["judge"], converted)

    if snakemake.input.parts:
        table_shards.join(spec, snakemake.input.candidates, list(snakemake.input.parts), output)
    else:
        _, revision = resolve_checkpoint(snakemake.input.checkpoint)
        judge = WhenNeeded({spec["judge"]: revision}, load)
        label_table(spec, snakemake.input.candidates, output, judge, work_folder(output))
