"""Write one row per answer with the verdicts of all judges."""

import json
from pathlib import Path

from bert_judge.evaluation.score_tables import build_scores
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    labels = dict(zip(spec["judges"], map(Path, snakemake.input.labels), strict=True))
    build_scores(spec, Path(snakemake.input.candidates), labels, Path(snakemake.output[0]))
