"""Write the HTML report."""

import json
from pathlib import Path

from bert_judge.report.build import build_report
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    folders = [Path(path).parent for path in snakemake.input.judges]
    build_report(
        json.loads(snakemake.params.spec),
        folder=Path(snakemake.input.standings[0]).parent,
        scores=[Path(path) for path in snakemake.input.scores],
        judges={folder.name: folder for folder in folders},
        output=Path(snakemake.output[0]),
        audit=next((Path(path).parent for path in snakemake.input.audit if path.endswith(".parquet")), None),
        attacks=(Path(snakemake.input.attacks[0]), Path(snakemake.input.attacks[1])) if snakemake.input.attacks else None,
        cascades=Path(snakemake.input.cascades[0]) if snakemake.input.cascades else None,
        pairs=tuple(Path(path) for path in snakemake.input.ranks) or None,
        students=Path(snakemake.input.students[0]) if snakemake.input.students else None,
    )
