"""Predict the test split of a probe with a baseline."""

import json

from bert_judge.judges.probe.config import BaselineTraining
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.probe.training.predict import tell_test_part

    spec = json.loads(snakemake.params.spec)
    settings = snakemake.config["judges"][spec["judge"]].get("baseline_training", {})
    tell_test_part(
        spec,
        snakemake.input.train,
        snakemake.input.validation,
        snakemake.input.backbone,
        snakemake.output.predictions,
        snakemake.output.note,
        work_folder(snakemake.output.predictions),
        {key: value for key, value in settings.items() if key in BaselineTraining.run_time},
    )
