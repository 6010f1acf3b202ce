"""Draw a sample of answers and write the annotation sheet."""

import json
from pathlib import Path

from bert_judge.report.audit_sheet import write_sheet
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    write_sheet(
        json.loads(snakemake.params.spec),
        scores=[Path(path) for path in snakemake.input.scores],
        labels=[Path(path) for path in snakemake.input.labels],
        sheet=Path(snakemake.output.sheet),
        page=Path(snakemake.output.page),
    )
