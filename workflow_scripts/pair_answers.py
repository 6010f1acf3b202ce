"""Pair the answers of two models to the same questions."""

import json

from bert_judge.evaluation.pairs.agreement import build_pairs
from bert_judge.runtime.logs import job_log

with job_log(snakemake.log[0]):
    gold = [list(snakemake.input.gold_one), list(snakemake.input.gold_other)]
    build_pairs(
        json.loads(snakemake.params.spec),
        [list(snakemake.input.one), list(snakemake.input.other)],
        gold if any(gold) else [],
        snakemake.output[0],
    )
