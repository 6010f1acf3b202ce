"""Compare pairs of answers with a trained judge."""

import json

from bert_judge.labels.preferences import compare_pairs
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import work_folder

with job_log(snakemake.log[0]):
    gpus.check_gpus(snakemake.resources)
    from bert_judge.judges.pairwise.loading import load_pair_judge

    spec = json.loads(snakemake.params.spec)
    judge = load_pair_judge(snakemake.input.checkpoint, spec["judge"])
    compare_pairs(spec, list(snakemake.input.pairs), snakemake.output[0], judge, work_folder(snakemake.output[0]))
