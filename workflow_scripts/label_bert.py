"""Verdicts of a trained encoder: given here, found where the job of many tables left them, or joined from parts."""

import json

from bert_judge import gpus, parts
from bert_judge.encoder.on_disk import located
from bert_judge.judges.when_needed import WhenNeeded
from bert_judge.labels import label_table
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    output = snakemake.output[0]

    def load():
        gpus.check(snakemake.resources)
        from bert_judge.judges.bert import BERTJudge

        converted = work_folder(f"results/encoders/{spec['judge']}")
        return BERTJudge.from_run(snakemake.input.checkpoint, spec["settings"], spec["judge"], converted)

    if snakemake.input.parts:
        parts.join(spec, snakemake.input.candidates, list(snakemake.input.parts), output)
    else:
        _, revision = located(snakemake.input.checkpoint)
        judge = WhenNeeded({spec["judge"]: revision}, load)
        label_table(spec, snakemake.input.candidates, output, judge, work_folder(output))
