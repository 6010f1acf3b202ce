"""Compute accuracies, model comparisons, judge agreement and cost."""

import json
from pathlib import Path

from bert_judge.evaluation.standings import build_standings
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    build_standings(
        json.loads(snakemake.params.spec),
        [Path(path) for path in snakemake.input.scores],
        Path(snakemake.output.standings).parent,
    )
