"""Draw a sample of answers and write the annotation sheet."""

import json
from pathlib import Path

from bert_judge.report.audit_sheet import write_sheet
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    write_sheet(
        json.loads(snakemake.params.spec),
        [Path(path) for path in snakemake.input.scores],
        [Path(path) for path in snakemake.input.labels],
        Path(snakemake.output.sheet),
        Path(snakemake.output.page),
    )
