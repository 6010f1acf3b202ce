"""Compare pairs of answers with a heuristic."""

import json

from bert_judge.judges.pairwise.rules import PairRuleJudge
from bert_judge.labels.preferences import compare_pairs
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    judge = PairRuleJudge(spec["settings"]["rule"], spec["settings"]["seed"])
    compare_pairs(spec, list(snakemake.input.pairs), snakemake.output[0], judge, work_folder(snakemake.output[0]))
