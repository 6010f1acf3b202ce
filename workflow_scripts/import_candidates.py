"""Import the answers of a model from a file."""

import json

from bert_judge.candidates.stage import import_candidates
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    import_candidates(json.loads(snakemake.params.spec), snakemake.input.table, snakemake.input.source, snakemake.output[0])
