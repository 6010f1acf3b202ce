"""Accuracy per model and task, agreement with the gold labels, comparisons of judges."""

import json

from bert_judge.evaluation.standings import build_standings
from bert_judge.logs import job_log

with job_log(snakemake.log[0]):
    build_standings(
        json.loads(snakemake.params.spec),
        snakemake.input.scores,
        snakemake.output.standings,
        snakemake.output.agreement,
        snakemake.output.comparisons,
    )
