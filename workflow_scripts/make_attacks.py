"""Write the attack suite for a task."""

import json
from pathlib import Path

from bert_judge.evaluation.attacks import write_attacks
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    write_attacks(
        json.loads(snakemake.params.spec),
        Path(snakemake.input.table),
        Path(snakemake.output.candidates),
        Path(snakemake.output.attacks),
    )
