"""Pairs of answers from a file."""

import json

from bert_judge.logs import job_log
from bert_judge.pairs import import_pairs

with job_log(snakemake.log[0]):
    import_pairs(json.loads(snakemake.params.spec), snakemake.input.source, snakemake.output[0])
