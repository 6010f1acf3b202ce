"""Train a judge, of any kind that learns from labels."""

import json
from functools import partial
from pathlib import Path

from bert_judge.judges.registry import TrainingContext, train_judge
from bert_judge.runtime.hardware import check_gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    folder, spec = Path(snakemake.output.judge).parent, json.loads(snakemake.params.spec)
    block, inputs = snakemake.config["judges"][spec["judge"]], dict(snakemake.input.items())
    train_judge(TrainingContext(spec, inputs, folder, work_folder(folder), block, partial(check_gpus, snakemake.resources)))
