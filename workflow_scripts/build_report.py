"""The report: one HTML file."""

import json

from bert_judge.logs import job_log
from bert_judge.report.build import build_report

with job_log(snakemake.log[0]):
    build_report(
        json.loads(snakemake.params.spec),
        snakemake.input.standings,
        snakemake.input.agreement,
        snakemake.input.comparisons,
        snakemake.input.scores,
        snakemake.input.judges,
        snakemake.output[0],
    )
