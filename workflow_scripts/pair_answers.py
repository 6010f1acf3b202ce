"""Two models' answers to the same questions."""

import json

from bert_judge.logs import job_log
from bert_judge.pairs import build_pairs

with job_log(snakemake.log[0]):
    gold = [list(snakemake.input.gold_one), list(snakemake.input.gold_other)]
    build_pairs(
        json.loads(snakemake.params.spec),
        [list(snakemake.input.one), list(snakemake.input.other)],
        gold if any(gold) else [],
        snakemake.output[0],
    )
