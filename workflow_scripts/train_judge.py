"""Train an encoder on labelled answers."""

import json
from pathlib import Path

from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.bert.train import train_judge

    folder, spec = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("training", {})
    train_judge(
        spec,
        snakemake.input.train,
        snakemake.input.validation,
        snakemake.input.validation_weak,
        snakemake.input.summary,
        snakemake.input.backbone,
        folder,
        work_folder(folder),
        settings.get("micro_batch_size"),
    )
