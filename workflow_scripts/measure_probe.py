"""Compare a probe with its baselines."""

import json
from pathlib import Path

from bert_judge.judges.probe.evaluate import evaluate_probe
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    evaluate_probe(
        json.loads(snakemake.params.spec),
        snakemake.input.selection,
        snakemake.input.predictions,
        Path(snakemake.output.metrics).parent,
    )
