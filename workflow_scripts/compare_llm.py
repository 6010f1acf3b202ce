"""Compare pairs of answers with a prompted language model."""

import json

from bert_judge.judges.pairwise.llm import PairLLMJudge
from bert_judge.labels.preferences import compare_pairs
from bert_judge.runtime import gpus
from bert_judge.runtime.logs import job_log
from bert_judge.runtime.resume import store_folder, work_folder

with job_log(snakemake.log[0]):
    spec = json.loads(snakemake.params.spec)
    # vLLM may run in another Python environment, which has its own torch.
    if spec["settings"]["model"]["generator"] == "hf":
        gpus.check_gpus(snakemake.resources)
    entry = snakemake.config["judges"][spec["judge"]]
    folder = store_folder(f"verdicts/{spec['judge']}/pairs")
    judge = PairLLMJudge.from_run(spec, snakemake.input.get("manifest"), folder, entry)
    compare_pairs(spec, list(snakemake.input.pairs), snakemake.output[0], judge, work_folder(snakemake.output[0]))
