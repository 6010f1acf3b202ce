"""Compare students with their base models and controls."""

import json
from pathlib import Path

from bert_judge.evaluation.standings import build_students
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    # results/students/{model}/metrics.json
    metrics = {Path(path).parent.name: Path(path) for path in snakemake.input.metrics}
    standings, pairs = Path(snakemake.input.standings), Path(snakemake.input.pairs)
    build_students(
        json.loads(snakemake.params.spec), standings=standings, pairs=pairs, metrics=metrics, output=Path(snakemake.output[0])
    )
