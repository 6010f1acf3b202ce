"""Compute agreement and cost of cascades."""

import json
from pathlib import Path

from bert_judge.evaluation.agreement import build_cascades
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    files = [Path(path) for path in snakemake.input.labels]
    # results/labels/{judge}/{model}/{task}.parquet
    labels = {cascade: [path for path in files if path.parts[-3] == cascade] for cascade in spec["cascades"]}
    build_cascades(spec, [Path(path) for path in snakemake.input.scores], labels, Path(snakemake.output[0]))
