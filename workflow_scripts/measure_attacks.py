"""Compute error rates of judges on the attack suite."""

import json
from pathlib import Path

from bert_judge.evaluation.attacks import build_rates
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    keys = [(judge, task) for judge in spec["judges"] for task in spec["tasks"]]
    build_rates(
        spec,
        candidates=dict(zip(spec["tasks"], map(Path, snakemake.input.candidates), strict=True)),
        attacks=dict(zip(spec["tasks"], map(Path, snakemake.input.attacks), strict=True)),
        labels=dict(zip(keys, map(Path, snakemake.input.labels), strict=True)),
        rates=Path(snakemake.output.rates),
        examples=Path(snakemake.output.examples),
    )
