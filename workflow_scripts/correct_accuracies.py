"""Correct accuracies and differences with human labels of a sample, and certify the judges."""

import json
from pathlib import Path

from bert_judge.evaluation.audit.corrected import build_corrected
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    build_corrected(
        json.loads(snakemake.params.spec),
        scores=[Path(path) for path in snakemake.input.scores],
        sheets=[Path(path) for path in snakemake.input.labels],
        folder=Path(snakemake.output[0]).parent,
        attacks=Path(snakemake.input.attacks[0]) if snakemake.input.attacks else None,
    )
