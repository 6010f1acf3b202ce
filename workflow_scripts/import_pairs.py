"""Import pairs of answers from a file."""

import json

from bert_judge.evaluation.pairs.agreement import import_pairs
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    import_pairs(json.loads(snakemake.params.spec), snakemake.input.source, snakemake.output[0])
