"""Predict the test split of a probe by a baseline that loads the backbone."""

import json

from bert_judge.judges.probe.config import BaselineTraining
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.probe.training.baselines import predict_test_split

    spec = json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("baseline_training", {})
    predict_test_split(
        spec,
        snakemake.input.train,
        snakemake.input.validation,
        snakemake.input.backbone,
        snakemake.output.predictions,
        snakemake.output.note,
        work_folder(snakemake.output.predictions),
        {key: value for key, value in settings.items() if key in BaselineTraining.run_time},
    )
