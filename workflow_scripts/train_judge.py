"""Train an encoder on labelled answers."""

import json
from pathlib import Path

from bert_judge import gpus
from bert_judge.logs import job_log
from bert_judge.shards import work_folder

with job_log(snakemake.log[0]):
    gpus.check(snakemake.resources)
    from bert_judge.training.train import train_judge

    folder = Path(snakemake.output.judge).parent
    train_judge(
        json.loads(snakemake.params.spec),
        snakemake.input.train,
        snakemake.input.validation,
        snakemake.input.summary,
        snakemake.input.backbone,
        folder,
        work_folder(folder),
    )
